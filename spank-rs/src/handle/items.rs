//! The items of spank.h, as methods of the handles on which Slurm answers them.
#![forbid(unsafe_code)]

use std::process::ExitStatus;

use super::Handle;
use super::caps::{OnNode, PidLookup, StepShape, TaskEnded};
use crate::error::{Code, Error, Result};

/// Numbers that C code leaves unset (`NO_VAL`, and 0 for an array's id) are `None`.
fn set(value: u32) -> Option<u32> {
    (value != spank_sys::NO_VAL && value != u32::MAX).then_some(value)
}

/// The same for the 64-bit amounts of memory.
fn set_wide(value: u64) -> Option<u64> {
    (value < u64::MAX - 1).then_some(value)
}

impl<P, C> Handle<'_, P, C> {
    /// The major release of the Slurm that runs, such as `22` (`S_SLURM_VERSION_MAJOR`).
    ///
    /// # Errors
    /// If Slurm does not say (never measured); so for the next two.
    pub fn version_major(&self) -> Result<String> {
        let name = "S_SLURM_VERSION_MAJOR";
        self.raw.text(spank_sys::S_SLURM_VERSION_MAJOR, name).map(Option::unwrap_or_default)
    }

    /// The minor release, such as `05` (`S_SLURM_VERSION_MINOR`).
    ///
    /// # Errors
    /// If Slurm does not say.
    pub fn version_minor(&self) -> Result<String> {
        let name = "S_SLURM_VERSION_MINOR";
        self.raw.text(spank_sys::S_SLURM_VERSION_MINOR, name).map(Option::unwrap_or_default)
    }

    /// The maintenance release, such as `8` (`S_SLURM_VERSION_MICRO`).
    ///
    /// # Errors
    /// If Slurm does not say.
    pub fn version_micro(&self) -> Result<String> {
        let name = "S_SLURM_VERSION_MICRO";
        self.raw.text(spank_sys::S_SLURM_VERSION_MICRO, name).map(Option::unwrap_or_default)
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): StepShape,
{
    /// The command line (`S_JOB_ARGV`). On a node of a batch step it is the spooled script, with
    /// `--multi-prog` the command and the whole configuration.
    ///
    /// # Errors
    /// If Slurm refuses the item; so for the others of this kind.
    pub fn argv(&self) -> Result<Vec<Vec<u8>>> {
        self.raw.argv()
    }

    /// How many nodes the step has (`S_JOB_NNODES`); 0 in a batch step, where Slurm never fills it.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn node_count(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_NNODES, "S_JOB_NNODES")
    }

    /// How many tasks the step has (`S_JOB_TOTAL_TASK_COUNT`); 0 in a batch step.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn total_task_count(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_TOTAL_TASK_COUNT, "S_JOB_TOTAL_TASK_COUNT")
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): OnNode,
{
    /// This node's number in the step, from 0 (`S_JOB_NODEID`); 0 in a batch step.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn node_id(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_NODEID, "S_JOB_NODEID")
    }

    /// How many CPUs the job has on this node (`S_JOB_NCPUS`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn cpus(&self) -> Result<u16> {
        self.raw.short(spank_sys::S_JOB_NCPUS, "S_JOB_NCPUS")
    }

    /// CPUs per task; 1 with `--overcommit` (`S_STEP_CPUS_PER_TASK`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn cpus_per_task(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_STEP_CPUS_PER_TASK, "S_STEP_CPUS_PER_TASK")
    }

    /// The job's cores on this node as a list such as `0-3` (`S_JOB_ALLOC_CORES`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn job_cores(&self) -> Result<Option<String>> {
        self.raw.text(spank_sys::S_JOB_ALLOC_CORES, "S_JOB_ALLOC_CORES")
    }

    /// The step's cores on this node as a list (`S_STEP_ALLOC_CORES`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn step_cores(&self) -> Result<Option<String>> {
        self.raw.text(spank_sys::S_STEP_ALLOC_CORES, "S_STEP_ALLOC_CORES")
    }

    /// The job's memory on this node in MB (`S_JOB_ALLOC_MEM`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn job_memory(&self) -> Result<Option<u64>> {
        self.raw.wide(spank_sys::S_JOB_ALLOC_MEM, "S_JOB_ALLOC_MEM").map(set_wide)
    }

    /// The step's memory on this node in MB (`S_STEP_ALLOC_MEM`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn step_memory(&self) -> Result<Option<u64>> {
        self.raw.wide(spank_sys::S_STEP_ALLOC_MEM, "S_STEP_ALLOC_MEM").map(set_wide)
    }

    /// The user's supplementary groups (`S_JOB_SUPPLEMENTARY_GIDS`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn supplementary_gids(&self) -> Result<Vec<u32>> {
        self.raw.groups()
    }

    /// How often the job was restarted (`S_SLURM_RESTART_COUNT`). Slurm never fills it: it is 0 in each
    /// release from 22.05 to 26.05. `SLURM_RESTART_COUNT` of the environment has the number.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn restart_count(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_SLURM_RESTART_COUNT, "S_SLURM_RESTART_COUNT")
    }

    /// The array's job id (`S_JOB_ARRAY_ID`); for a job that is no array, `None` or, in an srun step,
    /// its own id.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn array_job_id(&self) -> Result<Option<u32>> {
        let id = self.raw.number(spank_sys::S_JOB_ARRAY_ID, "S_JOB_ARRAY_ID")?;
        Ok(set(id).filter(|id| *id != 0))
    }

    /// The task's number in its array (`S_JOB_ARRAY_TASK_ID`); `None` for a job that is no array.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn array_task_id(&self) -> Result<Option<u32>> {
        self.raw.number(spank_sys::S_JOB_ARRAY_TASK_ID, "S_JOB_ARRAY_TASK_ID").map(set)
    }

    /// The job's environment (`S_JOB_ENV`) as `NAME=value` entries. The extern step has nothing of the
    /// job's own there, only what slurmstepd adds (22.05: `SLURM_TOPOLOGY_ADDR`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn environment(&self) -> Result<Vec<Vec<u8>>> {
        self.raw.environment()
    }

    /// A task's number in the step by its number on this node (`S_JOB_LOCAL_TO_GLOBAL_ID`).
    ///
    /// # Errors
    /// If there is no such task here. Slurm's own test lets one number too many pass and reads beyond
    /// its array (spank.c), so the number is tested before.
    pub fn local_to_global(&self, local: u32) -> Result<u32> {
        let call = "S_JOB_LOCAL_TO_GLOBAL_ID";
        if local >= self.local_task_count()? {
            let code = Code::NOEXIST;
            return Err(Error::Host { call: "spank_get_item", what: call.into(), code });
        }
        self.raw.of_id(spank_sys::S_JOB_LOCAL_TO_GLOBAL_ID, call, local)
    }

    /// A task's number on this node by its number in the step (`S_JOB_GLOBAL_TO_LOCAL_ID`); `None` if
    /// it runs elsewhere.
    ///
    /// # Errors
    /// If Slurm refuses the item: [`Code::BAD_ARG`] for a number that the step has not, which in a batch
    /// step is every number, as its task count is 0 there.
    pub fn global_to_local(&self, global: u32) -> Result<Option<u32>> {
        let item = spank_sys::S_JOB_GLOBAL_TO_LOCAL_ID;
        elsewhere(self.raw.of_id(item, "S_JOB_GLOBAL_TO_LOCAL_ID", global))
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): PidLookup,
{
    /// The task of a pid, by its number in the step (`S_JOB_PID_TO_GLOBAL_ID`); `None` if no task has it.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn pid_to_global(&self, pid: i32) -> Result<Option<u32>> {
        let item = spank_sys::S_JOB_PID_TO_GLOBAL_ID;
        elsewhere(self.raw.of_pid(item, "S_JOB_PID_TO_GLOBAL_ID", pid))
    }

    /// The task of a pid, by its number on this node (`S_JOB_PID_TO_LOCAL_ID`); `None` if no task has it.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn pid_to_local(&self, pid: i32) -> Result<Option<u32>> {
        let item = spank_sys::S_JOB_PID_TO_LOCAL_ID;
        elsewhere(self.raw.of_pid(item, "S_JOB_PID_TO_LOCAL_ID", pid))
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): TaskEnded,
{
    /// How the task ended (`S_TASK_EXIT_STATUS`); `None` in the extern step.
    ///
    /// # Errors
    /// If Slurm refuses the item for another reason.
    pub fn exit_status(&self) -> Result<Option<ExitStatus>> {
        use std::os::unix::process::ExitStatusExt;
        let status = self.raw.signed(spank_sys::S_TASK_EXIT_STATUS, "S_TASK_EXIT_STATUS");
        super::caps::absent(status).map(|status| status.map(ExitStatus::from_raw))
    }
}

/// Turns "no such id on this node" into `None`.
fn elsewhere(answer: Result<u32>) -> Result<Option<u32>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some(Code::NOEXIST) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CASES A47.
    #[test]
    fn values_that_were_never_set_are_none() {
        assert_eq!(set(4_294_967_294), None);
        assert_eq!(set(4_294_967_295), None);
        assert_eq!(set(0), Some(0));
        assert_eq!(set_wide(18_446_744_073_709_551_614), None);
        assert_eq!(set_wide(9_007_199_254_740_993), Some(9_007_199_254_740_993));
    }
}
