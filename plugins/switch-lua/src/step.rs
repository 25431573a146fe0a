//! A managed step on this node: from `init`, where preinit is called, to `exit`, where postfini is.

use std::panic::{AssertUnwindSafe, catch_unwind};

use spank::caps::{AskController, OnNode};
use spank::context::Remote;
use spank::prelude::*;
use spank::{Controller, phase};
use switch_lua_core::process::Process;
use switch_lua_core::record::{Asked, Job, JobInfo, Known, StepKey, StepRecord, Store};
use switch_lua_core::settings::{OnLookupFailure, Settings};
use switch_lua_core::verdict::{Outcome, Verdict, decide, follows};
use switch_lua_core::wire::{self, Answer, Change, Function};
use switch_lua_core::worker::{Failure, Loaded, Worker};
use switch_lua_core::{environment, special};

use crate::{place, say, settle, sweep};

/// The state of a managed step in its slurmstepd.
pub struct Step {
    /// What the script's functions get.
    pub step: wire::Step,
    /// The step's id.
    pub id: StepId,
    /// The job's record, and this step's name in it; `None` where no record is kept: batch and
    /// interactive steps, and steps that are refused because there can be no record.
    pub record: Option<(Job, StepKey, StepRecord)>,
    /// Whether the step is refused, and by what (`None`: not by a function of the script).
    pub refused: Option<Option<Function>>,
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

type InitRemote<'h> = Handle<'h, phase::Init, Remote>;

/// `slurm_spank_init` of slurmstepd: `None` for a step that does not concern us.
pub fn begin(settings: &Settings, errors: &[String], cx: &InitRemote<'_>) -> Option<Step> {
    // Before it is known that the step is managed, a fault of ours must not hurt it.
    let mut step = guarded(|| find(settings, errors, cx))??;
    if step.refused.is_none() && step.record.is_some() {
        step.protect(|step| step.preinit(settings));
    }
    Some(step)
}

/// Runs code of ours; `None` after a panic, which is a bug and is logged as one.
fn guarded<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

/// Looks the job up, and opens the step's record.
fn find(settings: &Settings, errors: &[String], cx: &InitRemote<'_>) -> Option<Step> {
    let ids = cx
        .step_id()
        .and_then(|id| Ok((id, cx.job_id()?, cx.uid()?)));
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
    let mut step = Step {
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
        record: None,
        refused: None,
        controller_answers: true,
        worker: None,
        no_init: false,
        owes_postfini: true,
        pid: std::process::id(),
    };
    let restarts = restart_count(cx);
    let mut asked = false;
    let mut ask = || {
        asked = true;
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
            if let (true, Ok(store)) = (asked, &store) {
                sweep::run(settings, store, job_id, &cx.controller());
            }
            return None;
        }
        Ok(Known::Failed(error)) => return step.not_looked_up(settings, cx, &error),
        Ok(Known::Managed(job)) => {
            if let Some(info) = &job.info {
                step.step.know(info);
            }
            let run = job
                .info
                .as_ref()
                .map_or(restarts, |info| info.restart_count);
            if let StepId::Normal(number) = id {
                let record = StepRecord::open(Process::this(), uid);
                step.record = Some((job, StepKey { run, step: number }, record));
            }
            if let (true, Ok(store)) = (asked, &store) {
                sweep::run(settings, store, job_id, &cx.controller());
            }
        }
        // Without a record nobody would know that a postfini is owed. If the job is managed its
        // step fails, and any other one goes on.
        Err(problem) => match ask_controller(&cx.controller(), job_id) {
            Ok(Asked::Unmanaged { .. }) => {
                say::debug(format_args!("record {problem}; job {job_id} needs none"));
                return None;
            }
            Ok(Asked::Managed(_)) => step.refuse(None, format_args!("record {problem}")),
            Err(error) => {
                say::problem(switch_lua_core::record::Problem(problem));
                return step.not_looked_up(settings, cx, &error);
            }
        },
    }
    if !errors.is_empty() {
        say::errors(errors);
        step.refuse(None, "the plugstack.conf line is wrong");
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
        .and_then(|text| {
            std::str::from_utf8(&text)
                .ok()
                .and_then(|text| text.parse().ok())
        })
        .unwrap_or(0)
}

fn ask_controller(controller: &Controller<'_>, job_id: u32) -> Result<Asked> {
    let record = controller.load_job(job_id)?;
    let Some(network) = record.network else {
        return Ok(Asked::Unmanaged {
            restart_count: record.restart_count,
        });
    };
    let mut info = JobInfo::new(job_id, record.restart_count, record.start_time);
    info.sluid = record.sluid;
    info.partition = record.partition.map(wire::Text::from);
    info.network = Some(network.into());
    Ok(Asked::Managed(info))
}

impl Step {
    /// The step as it is named in the log.
    pub fn name(&self) -> String {
        format!("step {}.{}", self.step.job_id, self.id)
    }

    /// slurmctld gave no answer: `on_lookup_failure=` and the job's own word decide.
    fn not_looked_up(
        mut self,
        settings: &Settings,
        cx: &InitRemote<'_>,
        error: &Error,
    ) -> Option<Step> {
        let network = cx
            .getenv(b"SLURM_NETWORK")
            .ok()
            .flatten()
            .unwrap_or_default();
        if settings.on_lookup_failure == OnLookupFailure::Fail && !network.is_empty() {
            self.controller_answers = false;
            self.refuse(
                None,
                format_args!("{error}, and SLURM_NETWORK says that it asked for one"),
            );
            return Some(self);
        }
        say::error(format_args!(
            "{}: {error}: it is not known whether the job asked for --network, the step goes on \
             without switch.lua",
            self.name()
        ));
        None
    }

    /// Remembers that the step is to fail; `task_init_privileged` delivers it.
    fn refuse(&mut self, by: Option<Function>, why: impl std::fmt::Display) {
        say::error(format_args!(
            "{}: {}: {why}",
            self.name(),
            switch_lua_core::REFUSAL
        ));
        self.refused = Some(by);
    }

    /// Runs code that concerns this step; a panic of ours refuses the step.
    fn protect(&mut self, code: impl FnOnce(&mut Step)) {
        if guarded(|| code(self)).is_none() {
            self.refuse(None, "a fault of the plug-in, see the line before");
        }
    }

    /// Notes that the step owes a postfini, starts the worker and calls preinit.
    fn preinit(&mut self, settings: &Settings) {
        // Before the call: a slurmstepd that is killed in it has left the interconnect in a state
        // that nobody knows, which is what a postfini is for.
        let noted = self
            .record
            .as_ref()
            .map_or(Ok(()), |(job, key, record)| job.write_step(*key, record));
        if let Err(problem) = noted {
            self.record = None;
            self.refuse(None, format_args!("record {problem}"));
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
        if self.refused.is_some() || self.no_init {
            worker.finish();
        } else {
            self.worker = Some((worker, loaded));
        }
    }

    /// `slurm_spank_init_post_opt` of slurmstepd.
    pub fn init(&mut self, settings: &Settings, cx: &mut Handle<'_, phase::InitPostOpt, Remote>) {
        if self.refused.is_none() && !self.no_init {
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
        if self.refused.is_none() {
            apply(&changes, cx);
        }
    }

    /// The script cannot be used at all.
    fn unusable(&mut self, function: Function, failure: &Failure) {
        if decide(function, Outcome::Unusable) == Verdict::RefuseStep {
            self.refuse(None, failure);
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
            self.refuse(Some(function), format_args!("{} said so", function.name()));
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
        let owed = settle::Owed {
            job: &job,
            key,
            record: Some(record),
            step: &self.step,
        };
        // After a panic the record is still there, and the epilog tries again.
        let _ = guarded(|| settle::at_step_end(settings, owed, &cx.controller()));
    }
}

/// Starts the worker with this line's script.
pub fn start(settings: &Settings) -> Result<(Worker, Loaded), Failure> {
    let program = place::worker().map_err(Failure::NotStarted)?;
    Worker::start(
        &program,
        &place::script(settings),
        settings.timeout,
        &mut say::script,
    )
}

/// Puts the script's variables into the step's environment.
fn apply(changes: &[Change], cx: &mut Handle<'_, phase::InitPostOpt, Remote>) {
    let name = |text: &wire::Text| text.as_bytes().escape_ascii().to_string();
    for change in changes {
        let (Change::Set { name: variable, .. } | Change::Unset { name: variable }) = change;
        if let Some(why) = environment::refused(variable.as_bytes()) {
            say::info(format_args!(
                "step_init: {} is skipped: {why}",
                name(variable)
            ));
            continue;
        }
        let done = match change {
            Change::Set { name, value } => cx.setenv(name.as_bytes(), value.as_bytes(), true),
            Change::Unset { name } => cx.unsetenv(name.as_bytes()),
        };
        if let Err(error) = done {
            say::info(format_args!(
                "step_init: {} is skipped: {error}",
                name(variable)
            ));
        }
    }
}
