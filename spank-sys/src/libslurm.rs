//! The libslurm calls of `c/libslurm.c`: job look-up, kill a step, drain a node.
//!
//! They exist only in a build against installed headers (cfg `libslurm`); [`AVAILABLE`] tells.

use core::ffi::{c_char, c_int};

/// Whether this build has the calls: false if it was made without Slurm's headers.
pub const AVAILABLE: bool = cfg!(libslurm);

/// What the calls return where the build has none of them (`ENOSYS`).
pub const UNAVAILABLE: c_int = libc::ENOSYS;

/// The part of a job's record that the plug-ins read; the C side allocates the strings.
#[repr(C)]
#[derive(Debug)]
pub struct JobRecord {
    /// The job's id; of an array task or a het component, its own.
    pub job_id: u32,
    /// How often the job was requeued.
    pub restart_count: u32,
    /// 1 if the run is over, its completion included.
    pub ended: u32,
    /// The leader of a heterogeneous job; 0 for other jobs.
    pub het_job_id: u32,
    /// Start of this run, seconds since the epoch; 0 if unknown.
    pub start_time: i64,
    /// Slurm's unique id of this run; 0 before 25.11.
    pub sluid: u64,
    /// `--network`, null if the job asked for none.
    pub network: *mut c_char,
    /// The partition it runs in; may be null.
    pub partition: *mut c_char,
}

#[cfg(libslurm)]
mod calls {
    use super::{JobRecord, c_char, c_int};

    // Compiled by build.rs from c/libslurm.c; the prototypes are those of c/libslurm.h.
    unsafe extern "C" {
        /// Asks slurmctld for one job's record: one RPC. libslurm retries for 18–20 s by itself.
        pub fn spank_libslurm_load_job(job_id: u32, record: *mut JobRecord) -> c_int;
        /// Frees the strings of a record.
        pub fn spank_libslurm_free_job(record: *mut JobRecord);
        /// Sends a signal to all tasks of a step, on all its nodes, through slurmctld.
        pub fn spank_libslurm_kill_step(job_id: u32, step_id: u32, signal: u16) -> c_int;
        /// The same for each component of a heterogeneous job, by its leader.
        pub fn spank_libslurm_kill_het_step(leader: u32, step_id: u32, signal: u16) -> c_int;
        /// Drains a node; needs root or SlurmUser.
        pub fn spank_libslurm_drain_node(node: *const c_char, reason: *const c_char) -> c_int;
        /// Reads slurm.conf; needed once before the others in a `job_script` process.
        pub fn spank_libslurm_init();
    }
}

#[cfg(not(libslurm))]
mod calls {
    use super::{JobRecord, UNAVAILABLE, c_char, c_int};

    /// Has no libslurm to ask.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_load_job(_job_id: u32, _record: *mut JobRecord) -> c_int {
        UNAVAILABLE
    }
    /// Has nothing to free.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_free_job(_record: *mut JobRecord) {}
    /// Has no libslurm to ask.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_kill_step(_job_id: u32, _step_id: u32, _signal: u16) -> c_int {
        UNAVAILABLE
    }
    /// Has no libslurm to ask.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_kill_het_step(_l: u32, _step_id: u32, _signal: u16) -> c_int {
        UNAVAILABLE
    }
    /// Has no libslurm to ask.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_drain_node(_n: *const c_char, _r: *const c_char) -> c_int {
        UNAVAILABLE
    }
    /// Has nothing to read.
    ///
    /// # Safety
    /// None is needed; the signature is that of the real call.
    pub unsafe fn spank_libslurm_init() {}
}

pub use calls::*;
