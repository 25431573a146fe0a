//! Looks after records of jobs whose epilog never came: a node that crashed, `PrologFlags=RunInJob`,
//! a plug-in installed without its epilog hook.
//!
//! It runs after a step that was the first of its job here, for one other job at a time, and for each of
//! these at most once an hour.

use std::time::Duration;

use spank::{Code, Controller};
use switch_lua_core::record::{Job, StepRecord, StepState, Store};
use switch_lua_core::settings::Settings;

use crate::{place, say, settle};

/// A record that was written to within this time is not looked at.
const AGE: Duration = Duration::from_secs(60 * 60);

/// Settles and removes the record of one job that is over.
pub fn run(settings: &Settings, controller: &Controller<'_>) {
    let Ok(node) = place::node() else { return };
    let Ok(Some(store)) = Store::open_existing(&settings.state_dir, &node) else { return };
    let Some(job_id) = store.sweep(AGE).into_iter().next() else { return };
    // An epilog or another sweep that has the lock settles it.
    let Ok(Some(_lock)) = store.try_lock(job_id) else { return };
    match store.job(job_id, &mut say::problem) {
        Ok(Some(job)) => one(settings, &store, job, (job_id, &node), controller),
        Ok(None) => {}
        Err(problem) => say::problem(problem),
    }
}

fn one(
    settings: &Settings,
    store: &Store,
    job: Job,
    (job_id, node): (u32, &str),
    controller: &Controller<'_>,
) {
    job.touch();
    if has_live_step(&job) || !is_over(&job, job_id, controller) {
        return;
    }
    say::info(format_args!(
        "job {job_id} is over and no epilog of ours ran for it here (was slurmd restarted after the \
         plug-in was installed?): settled now"
    ));
    let reasons = settle::all(settings, &job, job_id, node, None);
    if reasons.is_empty()
        || settle::drain(controller, &format!("job {job_id}: {}", reasons.join(", ")))
    {
        store.remove(job);
    }
}

fn has_live_step(job: &Job) -> bool {
    job.steps(&mut |_| {}).values().any(|state| match state {
        StepState::Known(record) => StepRecord::live_stepd(record).is_some(),
        StepState::Torn => false,
    })
}

/// Whether the run that the record is of is over; without an answer it is not.
fn is_over(job: &Job, job_id: u32, controller: &Controller<'_>) -> bool {
    match controller.load_job(job_id) {
        Ok(now) => {
            let other_run = job.info.as_ref().is_some_and(|then| {
                (then.restart_count, then.start_time) != (now.restart_count, now.start_time)
            });
            now.ended || other_run
        }
        Err(error) => error.code() == Some(Code::INVALID_JOB_ID),
    }
}
