//! A managed step on this node: from `init`, where preinit is called, to `exit`, where postfini is.

use std::panic::{AssertUnwindSafe, catch_unwind};

use spank::caps::AskController;
use spank::context::Remote;
use spank::phase;
use spank::prelude::*;
use switch_lua_core::environment;
use switch_lua_core::record::{Job, StepKey, StepRecord};
use switch_lua_core::settings::Settings;
use switch_lua_core::verdict::{Outcome, Verdict, decide, follows};
use switch_lua_core::wire::{self, Answer, Change, Function};
use switch_lua_core::worker::{Failure, Loaded, Worker};

use crate::look_up::{InitRemote, find};
use crate::task::WentOn;
use crate::{place, say, settle};

/// The state of a managed step in its slurmstepd.
pub struct Step {
    /// What the script's functions get.
    pub step: wire::Step,
    /// The step's id.
    pub id: StepId,
    /// The leader, if the job is a component of a heterogeneous one.
    pub het_job_id: Option<u32>,
    /// The job's record, and this step's name in it; `None` where no record is kept: batch and
    /// interactive steps, and steps that are refused because there can be no record.
    pub record: Option<(Job, StepKey, StepRecord)>,
    /// Whether the step is refused: its tasks are to fail.
    pub refused: bool,
    /// Whether the user was told of the refusal.
    pub delivered: bool,
    /// Whether refused tasks go on; made with the refusal.
    pub went_on: Option<WentOn>,
    /// Whether slurmctld answered; without it the step cannot be ended on its other nodes.
    pub controller_answers: bool,
    /// The worker, between init and init_post_opt.
    worker: Option<(Worker, Loaded)>,
    /// Whether the script defines no step_init, as far as is known.
    no_init: bool,
    /// Whether the script defines a postfini, as far as is known.
    owes_postfini: bool,
    /// The process that did the setting up; only that one tears down.
    pid: u32,
}

/// `slurm_spank_init` of slurmstepd: `None` for a step that does not concern us.
pub fn begin(
    settings: &Settings,
    errors: &[String],
    cx: &InitRemote<'_>,
    asked: &mut bool,
) -> Option<Step> {
    // Before it is known that the step is managed, a fault of ours must not hurt it.
    let mut step = guarded(|| find(settings, errors, cx, asked))??;
    if !step.refused && step.record.is_some() {
        step.protect(|step| step.preinit(settings));
    }
    Some(step)
}

/// Runs code of ours; `None` after a panic, which is a bug and is logged as one.
pub fn guarded<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

impl Step {
    /// A step of which nothing is known yet.
    pub fn new(job_id: u32, id: StepId, step_id: wire::StepId) -> Step {
        Step {
            step: wire::Step {
                job_id,
                partition: None,
                network: None,
                sluid: None,
                step_id,
                node: String::new(),
                orphans: None,
            },
            id,
            het_job_id: None,
            record: None,
            refused: false,
            delivered: false,
            went_on: None,
            controller_answers: true,
            worker: None,
            no_init: false,
            owes_postfini: true,
            pid: std::process::id(),
        }
    }

    /// The step as it is named in the log.
    pub fn name(&self) -> String {
        settle::step_name(&self.step)
    }

    /// Remembers that the step is to fail; `task_init_privileged` delivers it.
    pub fn refuse(&mut self, why: impl std::fmt::Display) {
        say::error(format_args!("{}: {}: {why}", self.name(), switch_lua_core::REFUSAL));
        self.refused = true;
        self.went_on = WentOn::new();
    }

    /// Runs code that concerns this step; a panic of ours refuses the step.
    fn protect(&mut self, code: impl FnOnce(&mut Step)) {
        if guarded(|| code(self)).is_none() {
            self.refuse("a fault of the plug-in, see the line before");
        }
    }

    /// Notes that the step owes a postfini, starts the worker and calls preinit.
    fn preinit(&mut self, settings: &Settings) {
        // Before the call: a slurmstepd that is killed in it has left the interconnect in a state
        // that nobody knows, which is what a postfini is for.
        let noted =
            self.record.as_ref().map_or(Ok(()), |(job, key, record)| job.write_step(*key, record));
        if let Err(problem) = noted {
            self.record = None;
            self.refuse(format_args!("record {problem}"));
            return;
        }
        let (mut worker, loaded) = match start(settings) {
            Ok(started) => started,
            Err(failure) => return self.unusable(Function::StepPreinit, &failure),
        };
        let defined = |function| loaded.functions.contains(&function);
        self.owes_postfini = defined(Function::StepPostfini);
        self.no_init = !defined(Function::StepInit);
        if defined(Function::StepPreinit) {
            let called = worker.call(Function::StepPreinit, &self.step, &mut say::script);
            let (_, alive) = self.judge(Function::StepPreinit, called);
            if !alive {
                // init_post_opt starts another one.
                return;
            }
        }
        if self.refused || self.no_init {
            worker.finish();
        } else {
            self.worker = Some((worker, loaded));
        }
    }

    /// `slurm_spank_init_post_opt` of slurmstepd.
    pub fn init(&mut self, settings: &Settings, cx: &mut Handle<'_, phase::InitPostOpt, Remote>) {
        if !self.refused && !self.no_init {
            self.protect(|step| step.step_init(settings, cx));
        }
        // Also after a panic: no worker outlives this hook.
        self.worker = None;
    }

    fn step_init(&mut self, settings: &Settings, cx: &mut Handle<'_, phase::InitPostOpt, Remote>) {
        let started = match self.worker.take() {
            Some(started) => Ok(started),
            None => start(settings),
        };
        let (mut worker, loaded) = match started {
            Ok(started) => started,
            Err(failure) => return self.unusable(Function::StepInit, &failure),
        };
        let wanted = matches!(self.id, StepId::Normal(_)) || loaded.special_steps;
        if !wanted || !loaded.functions.contains(&Function::StepInit) {
            worker.finish();
            return;
        }
        let called = worker.call(Function::StepInit, &self.step, &mut say::script);
        let (changes, alive) = self.judge(Function::StepInit, called);
        if alive {
            worker.finish();
        }
        if !self.refused {
            apply(&changes, cx);
        }
    }

    /// The script cannot be used at all.
    fn unusable(&mut self, function: Function, failure: &Failure) {
        if decide(function, Outcome::Unusable) == Verdict::RefuseStep {
            self.refuse(failure);
        }
        if function == Function::StepPreinit {
            self.close();
        }
    }

    /// What follows from a call; tells whether the worker still lives, too.
    fn judge(
        &mut self,
        function: Function,
        called: Result<(Answer, Vec<Change>), Failure>,
    ) -> (Vec<Change>, bool) {
        let (answer, changes, alive) = settle::answer(&self.name(), function, called);
        if decide(function, answer) == Verdict::RefuseStep {
            self.refuse(format_args!("{} said so", function.name()));
            if !follows(function, Function::StepPostfini) {
                self.close();
            }
        }
        (changes, alive)
    }

    /// The step owes nothing more.
    fn close(&mut self) {
        if let Some((job, key, _)) = self.record.take() {
            job.close_step(key);
        }
    }

    /// `slurm_spank_exit` of slurmstepd: all tasks are dead.
    pub fn end<P>(mut self, settings: &Settings, cx: &Handle<'_, P, Remote>)
    where
        (P, Remote): AskController,
    {
        if self.pid != std::process::id() {
            return;
        }
        let Some((job, key, record)) = self.record.take() else {
            return;
        };
        if !self.owes_postfini {
            job.close_step(key);
            return;
        }
        let owed = settle::Owed { job: &job, key, record, step: &self.step };
        // After a panic the record is still there, and the epilog tries again.
        let _ = guarded(|| settle::at_step_end(settings, owed, &cx.controller()));
    }
}

/// Starts the worker with this line's script.
pub fn start(settings: &Settings) -> Result<(Worker, Loaded), Failure> {
    let program = place::worker().map_err(Failure::NotStarted)?;
    Worker::start(&program, &place::script(settings), settings.timeout, &mut say::script)
}

/// Puts the script's variables into the step's environment.
fn apply(changes: &[Change], cx: &mut Handle<'_, phase::InitPostOpt, Remote>) {
    let name = |text: &wire::Text| text.as_bytes().escape_ascii().to_string();
    for change in changes {
        let (Change::Set { name: variable, .. } | Change::Unset { name: variable }) = change;
        if let Some(why) = environment::refused(variable.as_bytes()) {
            say::info(format_args!("step_init: {} is skipped: {why}", name(variable)));
            continue;
        }
        let done = match change {
            Change::Set { name, value } => cx.setenv(name.as_bytes(), value.as_bytes(), true),
            Change::Unset { name } => cx.unsetenv(name.as_bytes()),
        };
        if let Err(error) = done {
            say::info(format_args!("step_init: {} is skipped: {error}", name(variable)));
        }
    }
}
