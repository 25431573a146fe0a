//! Finds out whether a step concerns us: one question to slurmctld per job and node at most.

use spank::caps::OnNode;
use spank::context::Remote;
use spank::prelude::*;
use spank::{Controller, phase};
use switch_lua_core::process::Process;
use switch_lua_core::record::{Asked, JobInfo, Known, Problem, StepKey, StepRecord, Store};
use switch_lua_core::settings::{OnLookupFailure, Settings};
use switch_lua_core::{special, wire};

use crate::step::Step;
use crate::{place, say};

/// The handle of `slurm_spank_init` in slurmstepd.
pub type InitRemote<'h> = Handle<'h, phase::Init, Remote>;

/// Looks the job up, and opens the step's record.
///
/// `asked` is set if slurmctld was asked.
pub fn find(
    settings: &Settings,
    errors: &[String],
    cx: &InitRemote<'_>,
    asked: &mut bool,
) -> Option<Step> {
    let ids = cx.step_id().and_then(|id| Ok((id, cx.job_id()?, cx.uid()?)));
    let (id, job_id, uid) = match ids {
        Ok(ids) => ids,
        Err(error) => {
            say::error(format_args!("{error}: this step runs without switch.lua"));
            return None;
        }
    };
    let step_id = match id {
        StepId::Normal(number) => wire::StepId::Number(number),
        StepId::Batch | StepId::Interactive if special::is_named_in(&place::script(settings)) => {
            wire::StepId::Name(id.to_string())
        }
        _ => return None,
    };
    let mut step = Step::new(job_id, id, step_id);
    let restarts = restart_count(cx);
    let mut ask = || {
        *asked = true;
        ask_controller(&cx.controller(), job_id)
    };
    let store = place::node().and_then(|node| {
        let store = Store::open(&settings.state_dir, &node).map_err(|e| e.to_string());
        step.step.node = node;
        store
    });
    let known = match &store {
        Ok(store) => store
            .look_up(job_id, restarts, &mut ask, &mut say::problem)
            .map_err(|problem| problem.to_string()),
        Err(problem) => Err(problem.clone()),
    };
    match known {
        Ok(Known::Unmanaged) => {
            say::debug(format_args!("job {job_id} did not ask for --network"));
            return None;
        }
        Ok(Known::Failed(error)) => return not_looked_up(step, settings, cx, &error),
        Ok(Known::Unanswered) => {
            let error = Error::message("another step of the job got no answer from slurmctld");
            return not_looked_up(step, settings, cx, &error);
        }
        Ok(Known::Managed(job)) => {
            if let Some(info) = &job.info {
                step.step.know(info);
                step.het_job_id = info.het_job_id;
            }
            let run = job.info.as_ref().map_or(restarts, |info| info.restart_count);
            if let StepId::Normal(number) = id {
                let record = StepRecord::open(Process::this(), uid);
                step.record = Some((job, StepKey { run, step: number }, record));
            }
        }
        // Without a record nobody would know that a postfini is owed. If the job is managed its
        // step fails, and any other one goes on.
        Err(problem) => match ask_controller(&cx.controller(), job_id) {
            Ok(Asked::Unmanaged { .. }) => {
                say::debug(format_args!("record {problem}; job {job_id} needs none"));
                return None;
            }
            Ok(Asked::Managed(_)) => step.refuse(format_args!("record {problem}")),
            Err(error) => {
                say::problem(Problem(problem));
                return not_looked_up(step, settings, cx, &error);
            }
        },
    }
    if !errors.is_empty() {
        say::errors(errors);
        step.refuse("the plugstack.conf line is wrong");
        // No preinit, so no postfini.
        step.record = None;
    }
    Some(step)
}

/// How often the job was requeued, as its environment says; absent in a first run.
fn restart_count<P>(cx: &Handle<'_, P, Remote>) -> u32
where
    (P, Remote): OnNode,
{
    cx.getenv(b"SLURM_RESTART_COUNT")
        .ok()
        .flatten()
        .and_then(|text| std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()))
        .unwrap_or(0)
}

fn ask_controller(controller: &Controller<'_>, job_id: u32) -> Result<Asked> {
    let record = controller.load_job(job_id)?;
    let Some(network) = record.network else {
        return Ok(Asked::Unmanaged { restart_count: record.restart_count });
    };
    let mut info = JobInfo::new(job_id, record.restart_count, record.start_time);
    info.sluid = record.sluid;
    info.partition = record.partition.map(wire::Text::from);
    info.network = Some(network.into());
    info.het_job_id = record.het_job_id;
    Ok(Asked::Managed(info))
}

/// slurmctld gave no answer: `on_lookup_failure=` and the job's own word decide.
fn not_looked_up(
    mut step: Step,
    settings: &Settings,
    cx: &InitRemote<'_>,
    error: &Error,
) -> Option<Step> {
    let network = cx.getenv(b"SLURM_NETWORK").ok().flatten().unwrap_or_default();
    if settings.on_lookup_failure == OnLookupFailure::Fail && !network.is_empty() {
        step.controller_answers = false;
        step.refuse(format_args!("{error}, and SLURM_NETWORK says that it asked for one"));
        return Some(step);
    }
    say::error(format_args!(
        "{}: {error}: it is not known whether the job asked for --network, the step goes on \
         without switch.lua",
        step.name()
    ));
    None
}
