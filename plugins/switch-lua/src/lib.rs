//! The SPANK plug-in `spank_switch_lua.so`: runs a site's `switch.lua` around each step of the jobs
//! that asked for `--network`.
//!
//! The hooks map to the script's functions as ARCHITECTURE.md says. Nothing here runs Lua: a worker
//! process does. Nothing here fails a hook that could drain a node, but for a postfini verdict.
#![forbid(unsafe_code)]

#[cfg(feature = "epilog")]
mod epilog;
mod look_up;
mod place;
mod run_in_job;
mod say;
mod settle;
mod start;
mod step;
mod sweep;
mod task;

use std::ffi::CStr;

use spank::prelude::*;
use spank::{Plugin, WhenBroken};
use switch_lua_core::settings::{Log, Settings};

use step::Step;

/// The plug-in, for one line of plugstack.conf.
struct SwitchLua {
    settings: Settings,
    /// What is wrong with the line; the steps of managed jobs then fail.
    errors: Vec<String>,
    /// The managed step that this slurmstepd runs.
    step: Option<Step>,
    /// Whether this step was the one that asked slurmctld about its job.
    asked: bool,
}

impl Plugin for SwitchLua {
    const NAME: &'static CStr = c"switch_lua";

    // Unmanaged jobs must not suffer from a panic; what concerns a managed step has a guard of its
    // own (`step::guarded`), which refuses the step.
    const WHEN_BROKEN: WhenBroken = WhenBroken::Ignore;

    fn new(args: &Args) -> Result<Self> {
        let (settings, errors) = Settings::parse(args.iter());
        spank::log::limit(match settings.log {
            Log::Error => spank::log::Level::Error,
            Log::Info => spank::log::Level::Info,
            Log::Verbose => spank::log::Level::Verbose,
            Log::Debug => spank::log::Level::Debug,
            Log::Debug2 => spank::log::Level::Debug2,
            Log::Debug3 => spank::log::Level::Debug3,
        });
        Ok(SwitchLua { settings, errors, step: None, asked: false })
    }
}

impl Init for SwitchLua {
    fn init(&mut self, cx: InitCx<'_>) -> Result<()> {
        match cx.split() {
            In::Remote(cx) => {
                self.step = step::begin(&self.settings, &self.errors, &cx, &mut self.asked);
            }
            In::Slurmd(_) => {
                say::errors(&self.errors);
                start::report(&self.settings);
                run_in_job::warn(&self.settings);
            }
            // The users' commands have nothing to do with it, and a mistake in plugstack.conf must
            // not show on every terminal.
            In::Local(_) | In::Allocator(_) | In::JobScript(_) => {}
        }
        Ok(())
    }
}

impl InitPostOpt for SwitchLua {
    fn init_post_opt(&mut self, cx: InitPostOptCx<'_>) -> Result<()> {
        if let (In::Remote(mut cx), Some(step)) = (cx.split(), self.step.as_mut()) {
            step.init(&self.settings, &mut cx);
        }
        Ok(())
    }
}

impl TaskInitPrivileged for SwitchLua {
    fn task_init_privileged(&self, _cx: TaskInitPrivilegedCx<'_>) -> Result<()> {
        self.step.as_ref().map_or(Ok(()), task::refuse)
    }
}

impl TaskInit for SwitchLua {
    fn task_init(&self, _cx: TaskInitCx<'_>) -> Result<()> {
        if let Some(step) = &self.step {
            task::goes_on(step);
        }
        Ok(())
    }
}

impl TaskPostFork for SwitchLua {
    fn task_post_fork(&mut self, cx: TaskPostForkCx<'_>) -> Result<()> {
        if let Some(step) = &self.step {
            task::note(step, &cx);
        }
        Ok(())
    }
}

impl TaskExit for SwitchLua {
    fn task_exit(&mut self, cx: TaskExitCx<'_>) -> Result<()> {
        if let Some(step) = &mut self.step {
            task::deliver(&self.settings, step, &cx);
        }
        Ok(())
    }
}

impl Exit for SwitchLua {
    fn exit(&mut self, cx: ExitCx<'_>) -> Result<()> {
        if let In::Remote(cx) = cx.split() {
            if let Some(step) = self.step.take() {
                step.end(&self.settings, &cx);
            }
            // Rarely, and never before a step: it waits for other jobs' leftovers.
            if std::mem::take(&mut self.asked) {
                let _ = step::guarded(|| sweep::run(&self.settings, &cx.controller()));
            }
        }
        Ok(())
    }
}

#[cfg(feature = "epilog")]
impl JobEpilog for SwitchLua {
    fn job_epilog(&mut self, cx: JobEpilogCx<'_>) -> Result<()> {
        epilog::run(&self.settings, &cx)
    }
}

#[cfg(feature = "epilog")]
spank::plugin!(
    SwitchLua: Init
        + InitPostOpt
        + TaskInitPrivileged
        + TaskInit
        + TaskPostFork
        + TaskExit
        + Exit
        + JobEpilog
);

#[cfg(not(feature = "epilog"))]
spank::plugin!(
    SwitchLua: Init
        + InitPostOpt
        + TaskInitPrivileged
        + TaskInit
        + TaskPostFork
        + TaskExit
        + Exit
);
