//! Which calls Slurm answers in which hook and context: the impl lists here are that table.
//!
//! Read in `spank.c` (`_check_spank_item_validity`, `spank_get_item`, `spank_getenv`) from 22.05 to
//! 26.05, and measured on 22.05.8 and 26.05.3. What only run time knows stays a `Result`.
#![forbid(unsafe_code)]

use super::context::{Allocator, JobScript, Local, Remote};
use super::{Handle, phase};
use crate::env;
use crate::error::{Code, Result};
use crate::slurm::Controller;
use crate::step::StepId;

/// Job id, user and group are known: in slurmstepd, in prolog and epilog, and in `local_user_init`.
pub trait JobIdentity {}
/// The step is known: in slurmstepd, and in `local_user_init`.
pub trait StepShape {}
/// On a node: items of the node, and the environment of the job.
pub trait OnNode {}
/// A hook that runs for a task (in the extern step `task_post_fork` runs without one).
pub trait InTask {}
/// A hook that runs in the parent of the tasks, after they were forked.
pub trait AfterFork {}
/// A hook in which pids of tasks are known.
pub trait PidLookup {}
/// The hook in which a task has ended.
pub trait TaskEnded {}
/// A hook in a task's own process, before the exec.
pub trait BeforeExec {}
/// The hook in which options can be registered.
pub trait CanRegister {}
/// A hook that comes after the options are known.
pub trait OptionsKnown {}
/// A hook in which `spank_option_getopt` answers.
pub trait GetOpt {}
/// The environment of prolog and epilog can be changed. Not in srun's `init`: Slurm loses it there
/// (srun/opt.c, `_opt_default`; measured on 22.05 and 26.05).
pub trait ControlEnv {}
/// A hook from which slurmctld can be asked. Not `user_init`: there slurmstepd holds a lock, and
/// since 23.02 the call ends it. Not the clients: they are the user's processes.
pub trait AskController {}

impl<P> JobIdentity for (P, Remote) {}
impl<P> JobIdentity for (P, JobScript) {}
impl JobIdentity for (phase::LocalUserInit, Local) {}
impl<P> StepShape for (P, Remote) {}
impl StepShape for (phase::LocalUserInit, Local) {}
impl<P> OnNode for (P, Remote) {}
impl InTask for (phase::TaskInitPrivileged, Remote) {}
impl InTask for (phase::TaskInit, Remote) {}
impl InTask for (phase::TaskPostFork, Remote) {}
impl InTask for (phase::TaskExit, Remote) {}
impl AfterFork for (phase::TaskPostFork, Remote) {}
impl AfterFork for (phase::TaskExit, Remote) {}
impl PidLookup for (phase::TaskPostFork, Remote) {}
impl PidLookup for (phase::TaskExit, Remote) {}
impl PidLookup for (phase::Exit, Remote) {}
impl TaskEnded for (phase::TaskExit, Remote) {}
impl BeforeExec for (phase::TaskInitPrivileged, Remote) {}
impl BeforeExec for (phase::TaskInit, Remote) {}
impl CanRegister for (phase::Init, Local) {}
impl CanRegister for (phase::Init, Remote) {}
impl CanRegister for (phase::Init, Allocator) {}
impl<C> OptionsKnown for (phase::InitPostOpt, C) {}
impl<C> OptionsKnown for (phase::Exit, C) {}
impl OptionsKnown for (phase::LocalUserInit, Local) {}
impl OptionsKnown for (phase::UserInit, Remote) {}
impl OptionsKnown for (phase::TaskInitPrivileged, Remote) {}
impl OptionsKnown for (phase::TaskInit, Remote) {}
impl OptionsKnown for (phase::TaskPostFork, Remote) {}
impl OptionsKnown for (phase::TaskExit, Remote) {}
impl OptionsKnown for (phase::JobProlog, JobScript) {}
impl OptionsKnown for (phase::JobEpilog, JobScript) {}
impl GetOpt for (phase::LocalUserInit, Local) {}
impl GetOpt for (phase::UserInit, Remote) {}
impl GetOpt for (phase::TaskInitPrivileged, Remote) {}
impl GetOpt for (phase::TaskInit, Remote) {}
impl GetOpt for (phase::TaskExit, Remote) {}
impl GetOpt for (phase::JobProlog, JobScript) {}
impl GetOpt for (phase::JobEpilog, JobScript) {}
impl ControlEnv for (phase::Init, Allocator) {}
impl ControlEnv for (phase::InitPostOpt, Local) {}
impl ControlEnv for (phase::InitPostOpt, Allocator) {}
impl ControlEnv for (phase::LocalUserInit, Local) {}
impl AskController for (phase::Init, Remote) {}
impl AskController for (phase::InitPostOpt, Remote) {}
impl AskController for (phase::TaskInitPrivileged, Remote) {}
impl AskController for (phase::TaskInit, Remote) {}
impl AskController for (phase::TaskPostFork, Remote) {}
impl AskController for (phase::TaskExit, Remote) {}
impl AskController for (phase::Exit, Remote) {}
impl AskController for (phase::JobProlog, JobScript) {}
impl AskController for (phase::JobEpilog, JobScript) {}

impl<P, C> Handle<'_, P, C>
where
    (P, C): JobIdentity,
{
    /// The job's id (`S_JOB_ID`): of an array task or a het component, its own.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn job_id(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_ID, "S_JOB_ID")
    }

    /// The user's id (`S_JOB_UID`). In srun since 23.02 Slurm answers 99 unless `--uid` is given.
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn uid(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_UID, "S_JOB_UID")
    }

    /// The user's primary group (`S_JOB_GID`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn gid(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_GID, "S_JOB_GID")
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): StepShape,
{
    /// The step (`S_JOB_STEPID`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn step_id(&self) -> Result<StepId> {
        self.raw.number(spank_sys::S_JOB_STEPID, "S_JOB_STEPID").map(StepId::from)
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): OnNode,
{
    /// How many tasks of the step run on this node (`S_JOB_LOCAL_TASK_COUNT`).
    ///
    /// # Errors
    /// If Slurm refuses the item.
    pub fn local_task_count(&self) -> Result<u32> {
        self.raw.number(spank_sys::S_JOB_LOCAL_TASK_COUNT, "S_JOB_LOCAL_TASK_COUNT")
    }

    /// A variable of the job's environment, of any length; `None` if it is not set. In the extern
    /// step nothing of the job's own is set.
    ///
    /// # Errors
    /// If the name holds a NUL byte, or Slurm refuses the call.
    pub fn getenv(&self, name: &[u8]) -> Result<Option<Vec<u8>>> {
        env::get(&self.raw, name)
    }

    /// Sets a variable of the job's environment: in `init`, `init_post_opt` and `user_init` for the
    /// whole step on this node, in `task_init_privileged` and `task_init` for that task; after the
    /// forks the tasks do not see it.
    ///
    /// # Errors
    /// [`Code::ENV_EXISTS`](crate::Code::ENV_EXISTS) if it is set and `overwrite` is false; and if
    /// the name or the value is one that Slurm would refuse or silently drop (see
    /// [`MAX_NAME`](crate::MAX_NAME), [`MAX_ENTRY`](crate::MAX_ENTRY)).
    pub fn setenv(&mut self, name: &[u8], value: &[u8], overwrite: bool) -> Result<()> {
        env::set(&self.raw, name, value, overwrite)
    }

    /// Removes a variable from the job's environment; one that is not set is no error.
    ///
    /// # Errors
    /// If the name holds a NUL byte or `=`, or Slurm refuses the call.
    pub fn unsetenv(&mut self, name: &[u8]) -> Result<()> {
        env::unset(&self.raw, name)
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): InTask,
{
    /// The task's number on this node (`S_TASK_ID`); `None` in the extern step, which has no task.
    ///
    /// # Errors
    /// If Slurm refuses the item for another reason.
    pub fn task_id(&self) -> Result<Option<u32>> {
        absent(self.raw.signed(spank_sys::S_TASK_ID, "S_TASK_ID"))
            .map(|id| id.and_then(|id| u32::try_from(id).ok()))
    }

    /// The task's number in the step (`S_TASK_GLOBAL_ID`); `None` in the extern step.
    ///
    /// # Errors
    /// If Slurm refuses the item for another reason.
    pub fn task_global_id(&self) -> Result<Option<u32>> {
        absent(self.raw.number(spank_sys::S_TASK_GLOBAL_ID, "S_TASK_GLOBAL_ID"))
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): AfterFork,
{
    /// The task's process (`S_TASK_PID`); `None` in the extern step.
    ///
    /// # Errors
    /// If Slurm refuses the item for another reason.
    pub fn task_pid(&self) -> Result<Option<i32>> {
        absent(self.raw.signed(spank_sys::S_TASK_PID, "S_TASK_PID"))
    }
}

impl<P, C> Handle<'_, P, C>
where
    (P, C): AskController,
{
    /// Calls to slurmctld: job record, kill a step, drain a node.
    pub fn controller(&self) -> Controller<'_> {
        Controller::new(&self.raw)
    }
}

/// Turns Slurm's "not in task context" into `None`.
pub(super) fn absent<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.code() == Some(Code::NOT_TASK) => Ok(None),
        Err(error) => Err(error),
    }
}
