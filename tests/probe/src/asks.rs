//! Every call of each kind of handle, sorted as the handles are: by what Slurm answers where.

use std::os::unix::process::ExitStatusExt;

use spank::caps::{
    AfterFork, BeforeExec, ControlEnv, GetOpt, InTask, JobIdentity, OnNode, OptionsKnown,
    PidLookup, StepShape, TaskEnded,
};
use spank::{Handle, Occurrences, Opt};

use crate::line::{Line, text};
use crate::{FLAG, LEVEL, TAG};

/// What every handle has.
pub fn any<P, C>(cx: &Handle<'_, P, C>, line: &mut Line) {
    line.answer("version", cx.version());
    line.answer("major", cx.version_major());
    line.answer("minor", cx.version_minor());
    line.answer("micro", cx.version_micro());
}

pub fn job<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): JobIdentity,
{
    line.answer("job_id", cx.job_id());
    line.answer("uid", cx.uid());
    line.answer("gid", cx.gid());
}

pub fn step<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): StepShape,
{
    line.answer("step_id", cx.step_id());
    line.answer("nodes", cx.node_count());
    line.answer("tasks", cx.total_task_count());
    let argv = cx.argv();
    line.answer(
        "argv",
        argv.map(|words| words.iter().map(|w| text(w)).collect::<Vec<_>>().join(",")),
    );
}

/// Items of the node, and the environment of the job: what is set by the test (`PROBE_GIVEN`), what
/// nobody sets, and one variable a hook, so that the test sees which of them reach the task.
pub fn node<P, C>(cx: &mut Handle<'_, P, C>, hook: &str, line: &mut Line)
where
    (P, C): OnNode,
{
    line.answer("local_tasks", cx.local_task_count());
    line.answer("node_id", cx.node_id());
    line.answer("cpus", cx.cpus());
    line.answer("cpus_per_task", cx.cpus_per_task());
    line.maybe("job_cores", cx.job_cores());
    line.maybe("step_cores", cx.step_cores());
    line.maybe("job_memory", cx.job_memory());
    line.maybe("step_memory", cx.step_memory());
    line.answer("groups", cx.supplementary_gids().map(|gids| gids.len()));
    line.answer("restarts", cx.restart_count());
    line.maybe("array_job", cx.array_job_id());
    line.maybe("array_task", cx.array_task_id());
    // Of the job or not: slurmstepd adds variables of its own even in the extern step.
    let given = |all: Vec<Vec<u8>>| all.iter().any(|entry| entry == b"PROBE_GIVEN=yes");
    line.answer("environment", cx.environment().map(given));
    line.answer("global_of_0", cx.local_to_global(0));
    line.answer("global_of_99", cx.local_to_global(99));
    line.maybe("local_of_0", cx.global_to_local(0));
    line.maybe("local_of_99", cx.global_to_local(99));
    line.maybe("getenv", cx.getenv(b"PROBE_GIVEN").map(shown));
    line.maybe("getenv_absent", cx.getenv(b"PROBE_ABSENT").map(shown));
    let name = format!("PROBE_{}", hook.to_uppercase());
    line.done("setenv", cx.setenv(name.as_bytes(), b"1", true));
    line.done("setenv_again", cx.setenv(name.as_bytes(), b"2", false));
    line.maybe("getenv_set", cx.getenv(name.as_bytes()).map(shown));
    line.done("setenv_bad", cx.setenv(b"A=B", b"", true));
    line.done("unsetenv_absent", cx.unsetenv(b"PROBE_ABSENT"));
}

pub fn task<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): InTask,
{
    line.maybe("task_id", cx.task_id());
    line.maybe("task_global", cx.task_global_id());
}

pub fn forked<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): AfterFork + PidLookup,
{
    let pid = cx.task_pid();
    let number = pid.as_ref().ok().copied().flatten().unwrap_or(0);
    line.maybe("task_pid", pid);
    if number > 0 {
        line.maybe("local_of_task", cx.pid_to_local(number));
        line.maybe("global_of_task", cx.pid_to_global(number));
    }
}

pub fn pids<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): PidLookup,
{
    line.maybe("local_of_pid_1", cx.pid_to_local(1));
    line.maybe("global_of_pid_1", cx.pid_to_global(1));
}

pub fn ended<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): TaskEnded,
{
    let status = cx.exit_status().map(|status| {
        status.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit:{code}"),
            (_, signal) => format!("signal:{}", signal.unwrap_or_default()),
        })
    });
    line.maybe("exit_status", status);
}

/// `spank_prepend_task_argv` with words that change nothing for the task.
pub fn exec<P, C>(cx: &mut Handle<'_, P, C>, line: &mut Line)
where
    (P, C): BeforeExec,
{
    line.done("prepend", cx.prepend_argv(&[b"/usr/bin/env"]));
}

pub fn options<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): OptionsKnown,
{
    for opt in [&FLAG, &LEVEL, &TAG] {
        line.maybe(&short("opt", opt), cx.option(opt).map(given));
    }
}

pub fn getopt<P, C>(cx: &Handle<'_, P, C>, line: &mut Line)
where
    (P, C): GetOpt,
{
    for opt in [&FLAG, &LEVEL, &TAG] {
        line.maybe(&short("get", opt), cx.getopt(opt).map(given));
    }
}

/// The environment of prolog and epilog: one variable a hook.
pub fn control<P, C>(cx: &mut Handle<'_, P, C>, hook: &str, line: &mut Line)
where
    (P, C): ControlEnv,
{
    let name = format!("PROBE_{}", hook.to_uppercase());
    line.maybe("control_absent", cx.control_getenv(b"PROBE_ABSENT").map(shown));
    line.done("control_set", cx.control_setenv(name.as_bytes(), b"1", true));
    line.done("control_again", cx.control_setenv(name.as_bytes(), b"2", false));
    line.maybe("control_get", cx.control_getenv(name.as_bytes()).map(shown));
    line.done("control_bad", cx.control_setenv(b"A=B", b"", true));
    line.done("control_gone", cx.control_setenv(b"PROBE_GONE", b"1", true));
    line.done("control_unset", cx.control_unsetenv(b"PROBE_GONE"));
    line.maybe("control_unset_get", cx.control_getenv(b"PROBE_GONE").map(shown));
}

/// What a prolog or epilog hook finds in its own environment of what [`control`] set.
pub fn control_seen(line: &mut Line) {
    let mut names: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter_map(|(name, value)| Some(format!("{}:{value}", name.strip_prefix("SPANK_PROBE_")?)))
        .collect();
    names.sort();
    line.word("control_seen", if names.is_empty() { "-".to_owned() } else { names.join(",") });
}

fn short(kind: &str, opt: &Opt) -> String {
    format!("{kind}_{}", opt.name().to_string_lossy().replace("probe-", ""))
}

fn shown(value: Option<Vec<u8>>) -> Option<String> {
    value.map(|value| text(&value))
}

/// Each occurrence with its argument; `given` where it has none.
fn given(occurrences: Option<Occurrences>) -> Option<String> {
    let all = occurrences?;
    let texts = all.all().map(|argument| argument.map_or_else(|| "given".to_owned(), text));
    Some(texts.collect::<Vec<_>>().join(","))
}
