//! The libslurm calls of spank-sys.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use spank_sys::libslurm as slurm;

use crate::error::Code;

/// A job's record as libslurm gave it; the strings are copied and freed here.
pub struct Record {
    pub job_id: u32,
    pub restart_count: u32,
    pub ended: bool,
    pub het_job_id: u32,
    pub start_time: i64,
    pub sluid: u64,
    pub network: Option<Vec<u8>>,
    pub partition: Option<Vec<u8>>,
}

fn copy(text: *const c_char) -> Option<Vec<u8>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the C file sets such a field to null or to a string from strdup.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}

fn outcome(answer: c_int) -> Result<(), Code> {
    if answer == 0 { Ok(()) } else { Err(Code(u32::from_ne_bytes(answer.to_ne_bytes()))) }
}

pub fn load_job(job_id: u32) -> Result<Record, Code> {
    let mut record = slurm::JobRecord {
        job_id: 0,
        restart_count: 0,
        ended: 0,
        het_job_id: 0,
        start_time: 0,
        sluid: 0,
        network: ptr::null_mut(),
        partition: ptr::null_mut(),
    };
    // SAFETY: `record` is a structure of the layout that c/libslurm.h has (ABI test).
    outcome(unsafe { slurm::spank_libslurm_load_job(job_id, &raw mut record) })?;
    let copied = Record {
        job_id: record.job_id,
        restart_count: record.restart_count,
        ended: record.ended != 0,
        het_job_id: record.het_job_id,
        start_time: record.start_time,
        sluid: record.sluid,
        network: copy(record.network),
        partition: copy(record.partition),
    };
    // SAFETY: filled by the call above, and freed once.
    unsafe { slurm::spank_libslurm_free_job(&raw mut record) };
    Ok(copied)
}

pub fn kill_step(job_id: u32, step_id: u32, signal: u16) -> Result<(), Code> {
    // SAFETY: takes numbers only.
    outcome(unsafe { slurm::spank_libslurm_kill_step(job_id, step_id, signal) })
}

pub fn kill_het_step(leader: u32, step_id: u32, signal: u16) -> Result<(), Code> {
    // SAFETY: takes numbers only.
    outcome(unsafe { slurm::spank_libslurm_kill_het_step(leader, step_id, signal) })
}

pub fn drain_node(node: &CString, reason: &CString) -> Result<(), Code> {
    // SAFETY: both strings are NUL-terminated, and the C file copies them.
    outcome(unsafe { slurm::spank_libslurm_drain_node(node.as_ptr(), reason.as_ptr()) })
}

/// `slurm_init`, which a `job_script` process needs before its first call (without it libslurm
/// crashes there, measured on 26.05.3). Once per process.
pub fn init_libslurm() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: reads slurm.conf by its default rule; called once, by the `Once`.
    ONCE.call_once(|| unsafe { slurm::spank_libslurm_init() });
}
