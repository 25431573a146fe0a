//! A row of each table, and what both say in common: the outcome.
#![forbid(unsafe_code)]

use std::fmt;

use super::words::{Command, JobState, Mode, Release};
use crate::handle::context::Which as Context;
use crate::handle::phase::Which as Hook;

/// A row of SPANK(8)'s table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documented {
    /// One of the page's four commands.
    pub command: Command,
    /// The hook that fails.
    pub hook: Hook,
    /// The context it fails in.
    pub context: Context,
    /// What the command exits with; for remote hooks of sbatch this is `sbatch --wait`.
    pub exit: u8,
    /// Whether the node is drained.
    pub drains_node: bool,
    /// Whether the job fails.
    pub fails_job: bool,
}

impl Documented {
    /// What the page says.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            command: self.command,
            exit: Exit::Code(self.exit),
            drains_node: self.drains_node,
            fails_job: if self.fails_job { Fails::Yes } else { Fails::No },
        }
    }
}

/// A measured run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Slurm.
    pub release: Release,
    /// The command and how it was run.
    pub command: Command,
    /// The hook that failed and its context; `None` where no hook did, as a base line.
    pub failing: Option<(Hook, Context)>,
    /// How the plug-in was configured.
    pub mode: Mode,
    /// What the command did in the end.
    pub exit: Exit,
    /// The reason of the drained node; `None` if it stayed in service.
    pub drain_reason: Option<&'static str>,
    /// What became of the job.
    pub fails_job: Fails,
    /// The job as slurmctld showed it; `None` if none was made.
    pub job: Option<Job>,
    /// Whether the user's program ran.
    pub task_ran: bool,
}

impl Observed {
    /// Whether the node was drained.
    pub fn drained(&self) -> bool {
        self.drain_reason.is_some()
    }

    /// The page's row for the same command, hook and context, whatever the mode.
    pub fn documented(&self) -> Option<&'static Documented> {
        let (hook, context) = self.failing?;
        super::on_page(self.command, hook, context)
    }

    /// The run in short.
    pub fn outcome(&self) -> Outcome {
        Outcome {
            command: self.command,
            exit: self.exit,
            drains_node: self.drained(),
            fails_job: self.fails_job,
        }
    }
}

/// A job after the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// `JobState`.
    pub state: JobState,
    /// `ExitCode`.
    pub exit: JobExit,
    /// `Restarts`: how often it was requeued.
    pub restarts: u32,
}

/// A job's `ExitCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobExit {
    /// The first number.
    pub code: u8,
    /// The second number. Slurm puts more than signals there.
    pub signal: u8,
}

/// As Slurm writes it: `1:0`.
impl fmt::Display for JobExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.code, self.signal)
    }
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exit {
    /// It exits with this code.
    Code(u8),
    /// It does not end: it waits for a job that was requeued.
    Waits,
    /// It was not installed where this was measured: the row says nothing about Slurm.
    NotFound,
}

/// What becomes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fails {
    /// It fails.
    Yes,
    /// It does not fail.
    No,
    /// It does not fail: it goes back into the queue.
    Requeued,
    /// There is no job, since the command fails before it makes one.
    NoJob,
}

/// What a failing hook leads to; as text one short sentence, without a full stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The command; of the page's four if the page says so.
    pub command: Command,
    /// How the command ends.
    pub exit: Exit,
    /// Whether the node is drained.
    pub drains_node: bool,
    /// What becomes of the job.
    pub fails_job: Fails,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self.command.typed();
        match self.exit {
            Exit::Code(code) => write!(f, "{command} exits {code}")?,
            Exit::Waits => write!(f, "{command} goes on waiting")?,
            Exit::NotFound => return write!(f, "not measured: there was no {command}"),
        }
        f.write_str(if self.drains_node {
            ", the node is drained"
        } else {
            ", the node stays in service"
        })?;
        f.write_str(match self.fails_job {
            Fails::Yes => ", the job fails",
            Fails::No => ", the job does not fail",
            Fails::Requeued => ", the job is requeued",
            Fails::NoJob => ", no job is made",
        })
    }
}
