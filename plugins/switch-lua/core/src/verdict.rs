//! How a Lua answer becomes what Slurm does: one table, and the functions that read it.

use crate::wire::{Answer, Function};

/// How a call of the script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The script does not define the function.
    Undefined,
    /// 0.
    Zero,
    /// A number above 0.
    Positive,
    /// A number below 0.
    Negative,
    /// Another type, or nothing.
    NotANumber,
    /// A Lua error, a crash of the worker, its end without an answer, or the deadline.
    Failed,
    /// The script cannot be loaded, the settings are wrong, or the record cannot be kept.
    Unusable,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 7] = [
        Outcome::Undefined,
        Outcome::Zero,
        Outcome::Positive,
        Outcome::Negative,
        Outcome::NotANumber,
        Outcome::Failed,
        Outcome::Unusable,
    ];
}

impl From<&Answer> for Outcome {
    fn from(answer: &Answer) -> Outcome {
        match answer {
            Answer::Undefined => Outcome::Undefined,
            Answer::Zero => Outcome::Zero,
            Answer::Positive(_) => Outcome::Positive,
            Answer::Negative(_) => Outcome::Negative,
            Answer::NotANumber(_) => Outcome::NotANumber,
            Answer::Error(_) => Outcome::Failed,
        }
    }
}

/// What follows from an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The step goes on.
    GoOn,
    /// The step fails in `task_init_privileged`, on all its nodes; no node is drained.
    RefuseStep,
    /// The node is drained in `job_epilog`, or at once with `drain=now`.
    DrainNode,
}

/// The table of the document, with what DESIGN adds for scripts that cannot be used: everything
/// that is not listed goes on, so that a bug in a script does not fail every step of a cluster.
const TABLE: [(Function, Outcome, Verdict); 5] = [
    (Function::StepPreinit, Outcome::Negative, Verdict::RefuseStep),
    (Function::StepPreinit, Outcome::Unusable, Verdict::RefuseStep),
    (Function::StepInit, Outcome::Negative, Verdict::RefuseStep),
    (Function::StepInit, Outcome::Unusable, Verdict::RefuseStep),
    (Function::StepPostfini, Outcome::Negative, Verdict::DrainNode),
];

/// What follows when `function` ended with `outcome`.
pub fn decide(function: Function, outcome: Outcome) -> Verdict {
    TABLE
        .iter()
        .find(|(f, o, _)| (*f, *o) == (function, outcome))
        .map_or(Verdict::GoOn, |(_, _, verdict)| *verdict)
}

/// The hooks of the plug-in, as places where a verdict can be delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // SPANK's names
pub enum Hook {
    Init,
    InitPostOpt,
    TaskInitPrivileged,
    TaskInit,
    TaskPostFork,
    TaskExit,
    Exit,
    JobEpilog,
}

impl Hook {
    /// All of them.
    pub const ALL: [Hook; 8] = [
        Hook::Init,
        Hook::InitPostOpt,
        Hook::TaskInitPrivileged,
        Hook::TaskInit,
        Hook::TaskPostFork,
        Hook::TaskExit,
        Hook::Exit,
        Hook::JobEpilog,
    ];
}

/// Whether `hook` reports failure to Slurm when `remembered` is what was decided before it.
///
/// Two hooks behave the same in every release measured: `task_init_privileged` fails the step and
/// never drains, `job_epilog` drains and never fails the job. All others, `init` of a batch step
/// among them, can drain, requeue or stop a daemon, and so never report failure.
pub fn reports_failure(hook: Hook, remembered: Verdict) -> bool {
    matches!(
        (hook, remembered),
        (Hook::TaskInitPrivileged, Verdict::RefuseStep) | (Hook::JobEpilog, Verdict::DrainNode)
    )
}

/// What a step that was refused by one function still gets: after a negative preinit neither init
/// nor postfini runs, after a negative init postfini does (as the native slurmstepd does it).
pub fn follows(refused_by: Function, function: Function) -> bool {
    refused_by == Function::StepInit && function == Function::StepPostfini
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SW-204 to SW-207, SW-217, SW-218, SW-232, SW-234, SW-235: the whole domain.
    #[test]
    fn only_a_negative_number_or_an_unusable_script_has_consequences() {
        for function in Function::ALL {
            for outcome in Outcome::ALL {
                let expected = match (function, outcome) {
                    (Function::StepPostfini, Outcome::Negative) => Verdict::DrainNode,
                    (Function::StepPostfini, _) => Verdict::GoOn,
                    (_, Outcome::Negative | Outcome::Unusable) => Verdict::RefuseStep,
                    _ => Verdict::GoOn,
                };
                assert_eq!(decide(function, outcome), expected, "{function:?} {outcome:?}");
            }
        }
    }

    #[test]
    fn no_hook_that_can_drain_reports_failure_but_for_a_postfini_verdict() {
        for hook in Hook::ALL {
            for verdict in [Verdict::GoOn, Verdict::RefuseStep, Verdict::DrainNode] {
                let expected = match hook {
                    Hook::TaskInitPrivileged => verdict == Verdict::RefuseStep,
                    Hook::JobEpilog => verdict == Verdict::DrainNode,
                    _ => false,
                };
                assert_eq!(reports_failure(hook, verdict), expected, "{hook:?} {verdict:?}");
            }
        }
    }

    #[test]
    fn postfini_follows_a_refusing_init_and_nothing_follows_a_refusing_preinit() {
        for function in Function::ALL {
            assert!(!follows(Function::StepPreinit, function));
            assert_eq!(follows(Function::StepInit, function), function == Function::StepPostfini);
        }
    }
}
