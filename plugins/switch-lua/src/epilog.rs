//! `slurm_spank_job_epilog`: settles what the job's steps still owe on this node.

use spank::prelude::*;
use switch_lua_core::process;
use switch_lua_core::record::Store;
use switch_lua_core::settings::{Drain, Settings};
use switch_lua_core::verdict::{Hook, Verdict, reports_failure};

use crate::{place, say, settle};

/// The hook. A failure drains the node ("Epilog error"), so only a postfini verdict is one.
pub fn run(settings: &Settings, cx: &JobEpilogCx<'_>) -> Result<()> {
    let ids = cx.job_id().and_then(|job| Ok((job, cx.uid()?)));
    let (job_id, uid) = match ids {
        Ok(ids) => ids,
        Err(error) => {
            say::error(error);
            return Ok(());
        }
    };
    let opened = place::node().and_then(|node| {
        Store::open_existing(&settings.state_dir, &node)
            .map(|store| (node, store))
            .map_err(|problem| format!("record {problem}"))
    });
    let (node, store) = match opened {
        Ok((node, Some(store))) => (node, store),
        Ok((_, None)) => return Ok(()),
        Err(problem) => {
            say::error(problem);
            return Ok(());
        }
    };
    let slurmd = parent();
    store.forget_unmanaged(job_id);
    // A sweep may be at the same record; `None` too if there is no record.
    let _lock = store.lock_existing(job_id);
    let job = match store.job(job_id, &mut say::problem) {
        Ok(Some(job)) => job,
        Ok(None) => return Ok(()),
        Err(problem) => {
            say::problem(problem);
            return Ok(());
        }
    };
    let reasons = settle::all(settings, &job, job_id, &node, Some(uid));
    let verdict = if reasons.is_empty() { Verdict::GoOn } else { Verdict::DrainNode };
    if !reports_failure(Hook::JobEpilog, verdict) {
        store.remove(job);
        return Ok(());
    }
    let why = format!("job {job_id}: {}", reasons.join(", "));
    // Slurm's own drain needs slurmd, which reads this process's result. Without slurmd, or where
    // the drain was to be at the step's end and failed then, libslurm is asked.
    if (settings.drain == Drain::Now || !slurmd_waits(slurmd))
        && settle::drain(&cx.controller(), &why)
    {
        store.remove(job);
        return Ok(());
    }
    say::error(format_args!(
        "{why}: the epilog fails, so that Slurm drains node {node} (not if the \
         plugstack.conf line is optional)"
    ));
    store.remove(job);
    Err(Error::Reported)
}

/// The process that started this one.
fn parent() -> Option<process::Stat> {
    rustix::process::getppid().and_then(|parent| process::stat(parent.as_raw_pid()))
}

/// Whether the slurmd that started this process is still there to read its result.
fn slurmd_waits(before: Option<process::Stat>) -> bool {
    match (before, parent()) {
        (Some(before), Some(now)) => {
            before.process == now.process && now.comm.starts_with("slurmd")
        }
        _ => false,
    }
}
