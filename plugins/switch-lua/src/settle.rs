//! Settles what a step owes: its postfini, and the drain that a negative one asks for.

use std::time::{Duration, Instant};

use spank::Controller;
use switch_lua_core::record::{Job, StepKey, StepRecord, StepState, StepStatus};
use switch_lua_core::settings::{Drain, Settings};
use switch_lua_core::verdict::{Outcome, Verdict, decide};
use switch_lua_core::wire::{self, Answer, Change, Function};
use switch_lua_core::worker::Failure;
use switch_lua_core::{DRAIN_REASON, orphans};

use crate::{place, say, step};

/// Added to what a slurmstepd may still need for loading the script and for a call.
const STEPD_MARGIN: Duration = Duration::from_secs(10);

/// A step that owes its postfini.
pub struct Owed<'s> {
    /// The job's record.
    pub job: &'s Job,
    /// The step in it.
    pub key: StepKey,
    /// What is noted of the step.
    pub record: StepRecord,
    /// What the script gets.
    pub step: &'s wire::Step,
}

/// Logs how a call ended as the document says, and sorts it; tells whether the worker lives, too.
pub fn answer(
    step: &str,
    function: Function,
    called: Result<(Answer, Vec<Change>), Failure>,
) -> (Outcome, Vec<Change>, bool) {
    let name = function.name();
    let after = match function {
        Function::StepPostfini => "the node is not drained, check the interconnect",
        Function::StepPreinit | Function::StepInit => "the step goes on",
    };
    match called {
        Ok((answer, changes)) => {
            match &answer {
                Answer::Positive(number) => say::error(format_args!(
                    "{name}: returned {number} for {step}: not enforced, only a negative number is"
                )),
                Answer::Negative(number) => {
                    say::error(format_args!("{name}: returned {number} for {step}"));
                }
                Answer::NotANumber(what) => say::error(format_args!(
                    "{name}: returned {what} and not a number for {step}: taken as success"
                )),
                // The worker has logged message and traceback.
                Answer::Error(_) => {
                    say::error(format_args!("{name}: a Lua error for {step}: {after}"))
                }
                Answer::Undefined | Answer::Zero => {}
            }
            (Outcome::from(&answer), changes, true)
        }
        Err(failure) => {
            say::error(format_args!(
                "{name}: {step}: {failure}; it counts as a Lua error: {after}"
            ));
            (Outcome::Failed, Vec::new(), false)
        }
    }
}

/// Calls postfini; `None` if the script cannot be used, so that the step still owes it.
fn postfini(settings: &Settings, step: &wire::Step) -> Option<Outcome> {
    let name = step_name(step);
    let (mut worker, _) = match step::start(settings) {
        Ok(started) => started,
        Err(failure) => {
            let function = Function::StepPostfini.name();
            say::error(format_args!("{function}: cannot be called for {name}: {failure}"));
            return None;
        }
    };
    let called = worker.call(Function::StepPostfini, step, &mut say::script);
    let (outcome, _, alive) = answer(&name, Function::StepPostfini, called);
    if alive {
        worker.finish();
    }
    Some(outcome)
}

/// A step as it is named in the log.
pub fn step_name(step: &wire::Step) -> String {
    match &step.step_id {
        wire::StepId::Number(number) => format!("step {}.{number}", step.job_id),
        wire::StepId::Name(name) => format!("step {}.{name}", step.job_id),
    }
}

/// What is said of a step whose postfini was negative.
fn reason_for(step: &wire::Step) -> String {
    format!("{DRAIN_REASON} for {}", step_name(step))
}

/// In the exit hook: calls postfini, and notes or delivers its verdict.
pub fn at_step_end(settings: &Settings, owed: Owed<'_>, controller: &Controller<'_>) {
    // A script that cannot be used now may be usable in the epilog: the step keeps owing.
    let Some(outcome) = postfini(settings, owed.step) else {
        return;
    };
    if decide(Function::StepPostfini, outcome) != Verdict::DrainNode {
        owed.job.close_step(owed.key);
        return;
    }
    let reason = reason_for(owed.step);
    let noted = owed.job.write_step(owed.key, &owed.record.to_drain(reason.clone()));
    if settings.drain == Drain::Epilog && cfg!(feature = "epilog") {
        match noted {
            Ok(()) => {
                return say::error(format_args!(
                    "{reason}: the epilog of the job is to drain the node"
                ));
            }
            // The epilog would call postfini again and not know of this answer.
            Err(problem) => say::problem(problem),
        }
    }
    if drain(controller, &reason) {
        owed.job.close_step(owed.key);
    }
}

/// Drains this node through libslurm.
pub fn drain(controller: &Controller<'_>, why: &str) -> bool {
    let drained = place::node().and_then(|node| {
        controller.drain_node(&node, DRAIN_REASON).map(|()| node).map_err(|e| e.to_string())
    });
    match drained {
        Ok(node) => {
            say::error(format_args!("{why}: node {node} is drained"));
            true
        }
        Err(error) => {
            say::error(format_args!("{why}: the node could not be drained: {error}"));
            false
        }
    }
}

/// At the end of a job: settles all its steps, and gives the reasons to drain the node.
///
/// `uid` is the job's user, if the caller knows; a step whose own note of it is torn needs it.
pub fn all(
    settings: &Settings,
    job: &Job,
    job_id: u32,
    node: &str,
    uid: Option<u32>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    for (key, state) in job.steps(&mut say::problem) {
        let record = match state {
            StepState::Known(record) if record.status == StepStatus::Drain => {
                reasons.push(record.reason);
                continue;
            }
            StepState::Known(record) => Some(record),
            StepState::Torn => None,
        };
        settle(settings, job, key, record, (job_id, node, uid), &mut reasons);
    }
    reasons
}

/// Does for a step what its slurmstepd did not do.
fn settle(
    settings: &Settings,
    job: &Job,
    key: StepKey,
    record: Option<StepRecord>,
    (job_id, node, uid): (u32, &str, Option<u32>),
    reasons: &mut Vec<String>,
) {
    let this_boot = record.as_ref().is_none_or(StepRecord::is_of_this_boot);
    if let Some(stepd) = record.as_ref().and_then(StepRecord::live_stepd) {
        let deadline = Instant::now() + 2 * settings.timeout + STEPD_MARGIN;
        while stepd.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        // It may have settled everything itself while this waited.
        match job.steps(&mut |_| {}).remove(&key) {
            None => return,
            Some(StepState::Known(record)) if record.status == StepStatus::Drain => {
                return reasons.push(record.reason);
            }
            // A postfini of ours would run beside its own.
            Some(_) if stepd.is_alive() => {
                let pid = stepd.pid;
                return reasons
                    .push(format!("slurmstepd {pid} of step {job_id}.{} does not end", key.step));
            }
            Some(_) => {}
        }
    }
    let uid = record.as_ref().map(|record| record.uid).or(uid);
    let ended = match uid {
        Some(uid) if this_boot => orphans::end(&job.tasks(key), uid),
        // Nobody's processes can be told from anybody's.
        _ => orphans::Ended::default(),
    };
    let mut step = wire::Step {
        job_id,
        partition: None,
        network: None,
        sluid: None,
        step_id: wire::StepId::Number(key.step),
        node: node.to_owned(),
        orphans: Some(ended.killed),
    };
    if let Some(info) = job.info.as_ref().filter(|info| info.restart_count == key.run) {
        step.know(info);
    }
    let name = step_name(&step);
    say::info(format_args!(
        "{name}: its slurmstepd ended without a postfini ({} processes were still alive and were \
         killed): called now",
        ended.killed
    ));
    if ended.left > 0 {
        reasons.push(format!("{} processes of {name} cannot be killed", ended.left));
    }
    match postfini(settings, &step) {
        Some(outcome) if decide(Function::StepPostfini, outcome) == Verdict::DrainNode => {
            let reason = reason_for(&step);
            // Noted before the others are settled: this postfini must not run again.
            let record = record.unwrap_or_else(|| StepRecord::open(None, uid.unwrap_or(0)));
            if let Err(problem) = job.write_step(key, &record.to_drain(reason.clone())) {
                say::problem(problem);
            }
            reasons.push(reason);
        }
        Some(_) => job.close_step(key),
        None => say::error(format_args!(
            "{name}: its postfini never ran; check the interconnect of node {node}"
        )),
    }
}
