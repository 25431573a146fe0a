//! The hooks around tasks: a refusal is delivered, and the tasks are noted for the epilog.

use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use spank::prelude::*;
use switch_lua_core::process::Process;
use switch_lua_core::settings::{OnFailure, Settings};
use switch_lua_core::verdict::{Hook, Verdict, reports_failure};

use crate::say;
use crate::step::Step;

/// `SIGKILL`; srun's own cleaning up of a step uses the same.
const SIGKILL: u16 = 9;

/// How long a line takes to the user, and a task to its start, on a machine that is busy.
const UNTIL_TOLD: Duration = Duration::from_millis(300);
const UNTIL_STARTED: Duration = Duration::from_secs(1);

/// Tells slurmstepd whether a task of a refused step went on all the same: Slurm does not say whether
/// our line is `optional`, and then the step must be left alone.
pub struct WentOn(std::os::fd::OwnedFd);

impl WentOn {
    /// Made before the tasks are forked; `None` if there is no descriptor left.
    pub fn new() -> Option<WentOn> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok().map(WentOn)
    }

    fn set(&self) {
        // Full only after 2^64 tasks; a failure costs an optional step its life, and no more.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    fn is_set(&self) -> bool {
        rustix::io::read(&self.0, &mut [0u8; 8]).is_ok_and(|read| {
            // Put back for the next task that asks.
            self.set();
            read > 0
        })
    }
}

/// `slurm_spank_task_init_privileged`, in each task: fails the tasks of a refused step.
pub fn refuse(step: &Step) -> Result<()> {
    let verdict = if step.refused { Verdict::RefuseStep } else { Verdict::GoOn };
    if reports_failure(Hook::TaskInitPrivileged, verdict) { Err(Error::Reported) } else { Ok(()) }
}

/// `slurm_spank_task_init`, in each task: a refused one gets here only if Slurm ignores our failure.
pub fn goes_on(step: &Step) {
    if let (true, Some(went_on)) = (step.refused, &step.went_on) {
        went_on.set();
    }
}

/// `slurm_spank_task_exit`, in slurmstepd: after the first refused task of the node, tells the user,
/// and ends the step on its other nodes, where tasks would wait for this one.
pub fn deliver(settings: &Settings, step: &mut Step, cx: &TaskExitCx<'_>) {
    if !step.refused || std::mem::replace(&mut step.delivered, true) {
        return;
    }
    if step.went_on.as_ref().is_some_and(WentOn::is_set) {
        say::info(format_args!("{}: goes on, its plugstack.conf line is optional", step.name()));
        return;
    }
    // From user_init on, errors reach the user as well as slurmd's log.
    spank::log::error(format_args!("{}", switch_lua_core::REFUSAL));
    let elsewhere = step.het_job_id.is_some() || cx.node_count().is_ok_and(|nodes| nodes > 1);
    let can_end = matches!(step.id, StepId::Normal(_)) && step.controller_answers;
    if elsewhere && can_end && settings.on_failure == OnFailure::Step {
        // srun stops listening when the step is killed: the line above has to reach it first.
        std::thread::sleep(UNTIL_TOLD);
        end(step, cx);
        // A task that is just being started elsewhere can be missed, and would live for KillWait.
        std::thread::sleep(UNTIL_STARTED);
        end(step, cx);
    }
}

/// Ends the step on all its nodes.
fn end(step: &Step, cx: &TaskExitCx<'_>) {
    let killed = match step.het_job_id {
        Some(leader) => cx.controller().kill_het_step(leader, step.id, SIGKILL),
        None => cx.controller().kill_step(step.step.job_id, step.id, SIGKILL),
    };
    if let Err(error) = killed {
        // The step may be over already.
        say::debug(format_args!("{}: {error}", step.name()));
    }
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
