//! The tests' plug-in: notes what each call answers in each hook, and fails or panics on order.
//!
//! `required spank_probe.so record=FILE fail=HOOK:CONTEXT[:STEP] panic=HOOK:CONTEXT[:STEP] log=yes`.
//! The file has to be there, and writable by the user.
#![forbid(unsafe_code)]

mod asks;
mod line;
mod orders;

use spank::prelude::*;
use spank::{StepId, context};

use line::Line;
use orders::Orders;

const FLAG: Opt = Opt::new(c"probe-flag", c"An option without an argument");
const LEVEL: Opt = Opt::new(c"probe-level", c"An option with an argument")
    .argument(c"0..9")
    .val(9)
    .check(|given| match given.argument {
        Some([digit]) if digit.is_ascii_digit() => Ok(()),
        _ => Err(format!("not a number from 0 to {}", given.val)),
    });
const TAG: Opt =
    Opt::new(c"probe-tag", c"An option that can have an argument").optional_argument(c"TAG");

struct Probe(Orders);

impl Plugin for Probe {
    const NAME: &'static core::ffi::CStr = c"probe";
    const OPTIONS: &'static [&'static Opt] = &[&FLAG, &LEVEL, &TAG];

    fn new(args: &Args) -> Result<Self> {
        Orders::new(args).map(Probe)
    }
}

/// The kind of a step, for `fail=` and for the test's table.
fn kind(step: Result<StepId>) -> &'static str {
    match step {
        Ok(StepId::Normal(_)) => "normal",
        Ok(StepId::Batch) => "batch",
        Ok(StepId::Extern) => "extern",
        Ok(StepId::Interactive) => "interactive",
        _ => "unknown",
    }
}

impl Probe {
    /// A hook of slurmctld's other programs: those that have no step.
    fn off_node<P, C>(
        &self,
        hook: &str,
        context: &str,
        mut cx: Handle<'_, P, C>,
        ask: impl FnOnce(&mut Handle<'_, P, C>, &mut Line),
    ) -> Result<()> {
        let mut line = Line::new(hook, context, "-");
        asks::any(&cx, &mut line);
        ask(&mut cx, &mut line);
        self.0.obey(hook, context, "-", &mut line)
    }

    /// A hook of slurmstepd.
    fn on_node<P>(
        &self,
        hook: &str,
        mut cx: Handle<'_, P, context::Remote>,
        ask: impl FnOnce(&mut Handle<'_, P, context::Remote>, &mut Line),
    ) -> Result<()> {
        let step = kind(cx.step_id());
        let mut line = Line::new(hook, "remote", step);
        asks::any(&cx, &mut line);
        asks::job(&cx, &mut line);
        asks::step(&cx, &mut line);
        asks::node(&mut cx, hook, &mut line);
        ask(&mut cx, &mut line);
        self.0.obey(hook, "remote", step, &mut line)
    }
}

impl Init for Probe {
    fn init(&mut self, cx: InitCx<'_>) -> Result<()> {
        match cx.split() {
            In::Local(cx) => self.off_node("init", "local", cx, |_, _| {}),
            In::Allocator(cx) => self.off_node("init", "allocator", cx, |cx, line| {
                asks::control(cx, "init", line);
            }),
            In::Remote(cx) => self.on_node("init", cx, |_, _| {}),
            In::Slurmd(cx) => self.off_node("init", "slurmd", cx, |_, _| {}),
            In::JobScript(cx) => self.off_node("init", "job_script", cx, |_, _| {}),
        }
    }
}

impl InitPostOpt for Probe {
    fn init_post_opt(&mut self, cx: InitPostOptCx<'_>) -> Result<()> {
        let hook = "init_post_opt";
        match cx.split() {
            In::Local(cx) => self.off_node(hook, "local", cx, |cx, line| {
                asks::options(cx, line);
                asks::control(cx, hook, line);
            }),
            In::Allocator(cx) => self.off_node(hook, "allocator", cx, |cx, line| {
                asks::options(cx, line);
                asks::control(cx, hook, line);
            }),
            In::Remote(cx) => self.on_node(hook, cx, |cx, line| asks::options(cx, line)),
            In::Slurmd(cx) => self.off_node(hook, "slurmd", cx, |_, _| {}),
            In::JobScript(cx) => self.off_node(hook, "job_script", cx, |_, _| {}),
        }
    }
}

impl LocalUserInit for Probe {
    fn local_user_init(&mut self, cx: LocalUserInitCx<'_>) -> Result<()> {
        let hook = "local_user_init";
        self.off_node(hook, "local", cx, |cx, line| {
            asks::job(cx, line);
            asks::step(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
            asks::control(cx, hook, line);
        })
    }
}

impl UserInit for Probe {
    fn user_init(&mut self, cx: UserInitCx<'_>) -> Result<()> {
        self.on_node("user_init", cx, |cx, line| {
            asks::options(cx, line);
            asks::getopt(cx, line);
        })
    }
}

impl TaskInitPrivileged for Probe {
    fn task_init_privileged(&self, cx: TaskInitPrivilegedCx<'_>) -> Result<()> {
        self.on_node("task_init_privileged", cx, |cx, line| {
            asks::task(cx, line);
            asks::exec(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
        })
    }
}

impl TaskInit for Probe {
    fn task_init(&self, cx: TaskInitCx<'_>) -> Result<()> {
        self.on_node("task_init", cx, |cx, line| {
            asks::task(cx, line);
            asks::exec(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
        })
    }
}

impl TaskPostFork for Probe {
    fn task_post_fork(&mut self, cx: TaskPostForkCx<'_>) -> Result<()> {
        self.on_node("task_post_fork", cx, |cx, line| {
            asks::task(cx, line);
            asks::forked(cx, line);
            asks::pids(cx, line);
            asks::options(cx, line);
        })
    }
}

impl TaskExit for Probe {
    fn task_exit(&mut self, cx: TaskExitCx<'_>) -> Result<()> {
        self.on_node("task_exit", cx, |cx, line| {
            asks::task(cx, line);
            asks::forked(cx, line);
            asks::pids(cx, line);
            asks::ended(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
        })
    }
}

impl Exit for Probe {
    fn exit(&mut self, cx: ExitCx<'_>) -> Result<()> {
        match cx.split() {
            In::Local(cx) => self.off_node("exit", "local", cx, |cx, line| asks::options(cx, line)),
            In::Allocator(cx) => {
                self.off_node("exit", "allocator", cx, |cx, line| asks::options(cx, line))
            }
            In::Remote(cx) => self.on_node("exit", cx, |cx, line| {
                asks::pids(cx, line);
                asks::options(cx, line);
            }),
            In::Slurmd(cx) => self.off_node("exit", "slurmd", cx, |_, _| {}),
            In::JobScript(cx) => self.off_node("exit", "job_script", cx, |_, _| {}),
        }
    }
}

impl JobProlog for Probe {
    fn job_prolog(&mut self, cx: JobPrologCx<'_>) -> Result<()> {
        self.off_node("job_prolog", "job_script", cx, |cx, line| {
            asks::job(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
            asks::control_seen(line);
        })
    }
}

impl JobEpilog for Probe {
    fn job_epilog(&mut self, cx: JobEpilogCx<'_>) -> Result<()> {
        self.off_node("job_epilog", "job_script", cx, |cx, line| {
            asks::job(cx, line);
            asks::options(cx, line);
            asks::getopt(cx, line);
            asks::control_seen(line);
        })
    }
}

impl SlurmdExit for Probe {
    fn slurmd_exit(&mut self, cx: SlurmdExitCx<'_>) -> Result<()> {
        self.off_node("slurmd_exit", "slurmd", cx, |_, _| {})
    }
}

spank::plugin!(
    Probe: Init
        + JobProlog
        + InitPostOpt
        + LocalUserInit
        + UserInit
        + TaskInitPrivileged
        + TaskInit
        + TaskPostFork
        + TaskExit
        + JobEpilog
        + SlurmdExit
        + Exit
);
