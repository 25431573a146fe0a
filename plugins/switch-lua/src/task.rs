//! The hooks around tasks: a refusal is delivered, and the tasks are noted for the epilog.

use spank::prelude::*;
use switch_lua_core::process::Process;
use switch_lua_core::settings::{OnFailure, Settings};
use switch_lua_core::verdict::{Hook, Verdict, reports_failure};

use crate::say;
use crate::step::Step;

/// `SIGKILL`; srun's own cleaning up of a step uses the same.
const SIGKILL: u16 = 9;

/// `slurm_spank_task_init_privileged`: fails each task of a refused step. The first one of the node
/// tells the user, and ends the step on its other nodes, where tasks would wait for this one.
pub fn deliver(settings: &Settings, step: &Step, cx: &TaskInitPrivilegedCx<'_>) -> Result<()> {
    let verdict = if step.refused.is_some() {
        Verdict::RefuseStep
    } else {
        Verdict::GoOn
    };
    if !reports_failure(Hook::TaskInitPrivileged, verdict) {
        return Ok(());
    }
    if cx.task_id().ok().flatten() == Some(0) {
        // From user_init on, errors reach the user as well as slurmd's log.
        spank::log::error(format_args!("{}", switch_lua_core::REFUSAL));
        let can_end = matches!(step.id, StepId::Normal(_)) && step.controller_answers;
        if can_end && settings.on_failure == OnFailure::Step {
            let job_id = step.step.job_id;
            if let Err(error) = cx.controller().kill_step(job_id, step.id, SIGKILL) {
                // The step may be over already: it is, if this is its only node.
                say::debug(format_args!("{}: {error}", step.name()));
            }
        }
    }
    Err(Error::Reported)
}

/// `slurm_spank_task_post_fork`: notes the task, in case its slurmstepd dies before it.
pub fn note(step: &Step, cx: &TaskPostForkCx<'_>) {
    let Some((job, key, _)) = &step.record else {
        return;
    };
    let task = match cx.task_pid() {
        Ok(Some(pid)) => Process::of(pid),
        Ok(None) => None,
        Err(error) => {
            say::debug(format_args!("{}: {error}", step.name()));
            None
        }
    };
    // A task that has ended already needs no note.
    if let Some(task) = task
        && let Err(problem) = job.note_task(*key, task)
    {
        say::problem(problem);
    }
}
