//! The contexts a hook can run in, as types and as a value.
#![forbid(unsafe_code)]

/// Not known to the type: see [`Handle::split`](crate::Handle::split).
pub enum Any {}
/// srun.
pub enum Local {}
/// slurmstepd.
pub enum Remote {}
/// salloc, sbatch and scrontab.
pub enum Allocator {}
/// slurmd.
pub enum Slurmd {}
/// `slurmstepd spank prolog|epilog`: the process of the job_prolog and job_epilog hooks.
pub enum JobScript {}

/// The context as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// srun.
    Local,
    /// slurmstepd.
    Remote,
    /// salloc, sbatch and scrontab.
    Allocator,
    /// slurmd.
    Slurmd,
    /// The process of the job_prolog and job_epilog hooks.
    JobScript,
}

impl Which {
    /// The context of a number of Slurm's `enum spank_context`; `None` for `S_CTX_ERROR`.
    pub(crate) fn of(number: spank_sys::spank_context_t) -> Option<Which> {
        Some(match number {
            spank_sys::S_CTX_LOCAL => Which::Local,
            spank_sys::S_CTX_REMOTE => Which::Remote,
            spank_sys::S_CTX_ALLOCATOR => Which::Allocator,
            spank_sys::S_CTX_SLURMD => Which::Slurmd,
            spank_sys::S_CTX_JOB_SCRIPT => Which::JobScript,
            _ => return None,
        })
    }
}
