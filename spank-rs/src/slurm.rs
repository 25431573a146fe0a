//! Calls to slurmctld through libslurm: look a job up, kill a step, drain a node.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ffi::CString;

use crate::error::{Code, Error, Result};
use crate::ffi::{self, Raw};
use crate::handle::context::Which;
use crate::step::StepId;

/// The part of a job's record that plug-ins have needed so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// The job's id; of an array task or a het component, its own.
    pub job_id: u32,
    /// How often the job was requeued.
    pub restart_count: u32,
    /// Whether the run is over, its completion (the epilog) included.
    pub ended: bool,
    /// The leader's id, if this is a component of a heterogeneous job.
    pub het_job_id: Option<u32>,
    /// Start of this run, seconds since the epoch; 0 if unknown.
    pub start_time: i64,
    /// Slurm's unique id of this run as it writes it (`s` and 13 characters); from 25.11 on.
    pub sluid: Option<String>,
    /// `--network`; `None` if the job asked for none or for an empty one.
    pub network: Option<Vec<u8>>,
    /// The partition it runs in.
    pub partition: Option<Vec<u8>>,
}

/// slurmctld, from a hook where it may be asked.
///
/// Each call is one RPC. libslurm repeats a call that gets no answer by itself, for 18–20 s when
/// slurmctld is down: do not repeat on top of that.
pub struct Controller<'h> {
    raw: &'h Raw<'h>,
}

fn host(call: &'static str, what: impl Into<Cow<'static, str>>) -> impl FnOnce(Code) -> Error {
    let what = what.into();
    move |code| Error::Host { call, what, code }
}

impl<'h> Controller<'h> {
    pub(crate) fn new(raw: &'h Raw<'h>) -> Self {
        Controller { raw }
    }

    fn ready(&self) {
        if self.raw.context() == Which::JobScript {
            ffi::init_libslurm();
        }
    }

    /// The record of one job, by `slurm_load_job` with `SHOW_LOCAL`.
    ///
    /// # Errors
    /// If slurmctld does not answer, does not know the job, or this build has no libslurm calls.
    pub fn load_job(&self, job_id: u32) -> Result<JobRecord> {
        self.ready();
        let record =
            ffi::load_job(job_id).map_err(host("slurm_load_job", format!("job {job_id}")))?;
        Ok(JobRecord {
            job_id: record.job_id,
            restart_count: record.restart_count,
            ended: record.ended,
            het_job_id: (record.het_job_id != 0).then_some(record.het_job_id),
            start_time: record.start_time,
            sluid: (record.sluid != 0).then(|| sluid_text(record.sluid)),
            network: record.network,
            partition: record.partition,
        })
    }

    /// Sends `signal` to the tasks of a step on all its nodes.
    ///
    /// # Errors
    /// If slurmctld does not answer or refuses; a step that has ended already is one of these.
    pub fn kill_step(&self, job_id: u32, step: StepId, signal: u16) -> Result<()> {
        self.ready();
        ffi::kill_step(job_id, step.number(), signal)
            .map_err(host("slurm_kill_job_step", format!("step {job_id}.{step}")))
    }

    /// Sends `signal` to the tasks of a step in each component of a heterogeneous job. Its components
    /// number their steps together, so one id is one srun (step_mgr.c, `step_create`).
    ///
    /// # Errors
    /// If slurmctld does not answer, or no component has such a step.
    pub fn kill_het_step(&self, leader: u32, step: StepId, signal: u16) -> Result<()> {
        self.ready();
        ffi::kill_het_step(leader, step.number(), signal)
            .map_err(host("slurm_kill_job_step", format!("step {leader}.{step}")))
    }

    /// Drains a node, with a reason that `sinfo -R` shows.
    ///
    /// # Errors
    /// If a text holds a NUL byte, slurmctld does not answer, or it refuses.
    pub fn drain_node(&self, node: &str, reason: &str) -> Result<()> {
        self.ready();
        let value = |what, text: &str| {
            CString::new(text).map_err(|_| Error::Value { what, reason: "holds a NUL byte" })
        };
        let c_node = value("the node's name".into(), node)?;
        let c_reason = value("the drain reason".into(), reason)?;
        ffi::drain_node(&c_node, &c_reason)
            .map_err(host("slurm_update_node", format!("node {node}")))
    }
}

/// A sluid as Slurm writes it: `s` and 13 digits of Crockford's base 32 (`print_sluid`, 26.05).
fn sluid_text(sluid: u64) -> String {
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let digit = |i: u32| {
        let index = usize::try_from((sluid >> (5 * i)) & 0x1f).unwrap_or(0);
        char::from(DIGITS.get(index).copied().unwrap_or(b'0'))
    };
    std::iter::once('s').chain((0..13).rev().map(digit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sluid_has_fourteen_characters_and_keeps_all_bits() {
        assert_eq!(sluid_text(0), "s0000000000000");
        assert_eq!(sluid_text(31), "s000000000000Z");
        assert_eq!(sluid_text(u64::MAX), "sFZZZZZZZZZZZZ");
    }
}
