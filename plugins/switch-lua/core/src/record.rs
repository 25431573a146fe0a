//! The node-local record: what is known of a job, and which of its steps still owe a postfini.
//!
//! ```text
//! STATE_DIR/NODE:unmanaged-JOBID          a job that does not concern us; forgotten after an hour
//! STATE_DIR/NODE:job-JOBID/job            what slurmctld said of a managed job
//! STATE_DIR/NODE:job-JOBID/RUN.STEP.step  a step that owes a postfini, or a drain
//! STATE_DIR/NODE:job-JOBID/RUN.STEP.tasks its tasks, as pid and start time
//! ```
//!
//! Everything belongs to root, mode 0700 and 0600, is opened without following links below a folder
//! that is held open, and is written whole. The lock of a job is on its folder.

mod file;
mod job;
mod look_up;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock, fstat};
use serde::{Deserialize, Serialize};

use crate::wire::Text;
pub use job::{Job, StepKey, StepRecord, StepState, StepStatus};
pub use look_up::{Asked, Known};

/// Why a record cannot be used: one line that names the path and the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(pub String);

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

/// The format that is written; a record of a later one is refused.
const FORMAT: u32 = 1;

/// What slurmctld said of a managed job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    format: u32,
    /// The job's id.
    pub job_id: u32,
    /// How often it was requeued: with the id this names one run of the job on this node.
    pub restart_count: u32,
    /// Start of the run, seconds since the epoch.
    pub start_time: i64,
    /// Slurm's unique id of the run, where the release has one.
    pub sluid: Option<String>,
    /// The partition.
    pub partition: Option<Text>,
    /// What it asked for with `--network`.
    pub network: Option<Text>,
    /// The leader, if this is a component of a heterogeneous job.
    #[serde(default)]
    pub het_job_id: Option<u32>,
}

impl JobInfo {
    /// The first answer of slurmctld about one run of a job.
    pub fn new(job_id: u32, restart_count: u32, start_time: i64) -> JobInfo {
        JobInfo {
            format: FORMAT,
            job_id,
            restart_count,
            start_time,
            sluid: None,
            partition: None,
            network: None,
            het_job_id: None,
        }
    }
}

/// How long an answer "unmanaged" is believed. It is only a note against a second look-up: an
/// epilog may remove it, and none has to.
const UNMANAGED_LIFE: Duration = Duration::from_secs(60 * 60);

/// How long a process waits for another one's look-up of the same job; libslurm gives up after 20 s.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);

/// How often a waiting process tries again.
const LOCK_TURN: Duration = Duration::from_millis(10);

/// The records of one node.
#[derive(Debug)]
pub struct Store {
    dir: OwnedFd,
    path: PathBuf,
    node: String,
}

/// Whether a node's name can be a file's name. Slurm's can: letters, digits, `-`, `_` and `.`.
fn is_plain(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && !name.starts_with('.') && name.len() < 128 && name.chars().all(allowed)
}

fn plain(node: &str) -> Result<String, Problem> {
    if is_plain(node) {
        Ok(node.to_owned())
    } else {
        Err(Problem(format!("{node:?} cannot be a node's name")))
    }
}

impl Store {
    /// Opens the records of a node, and makes the folder if it is missing (not the one above it).
    ///
    /// # Errors
    /// If the folder cannot be made, or is a link, or is not only ours.
    pub fn open(state_dir: &Path, node: &str) -> Result<Store, Problem> {
        let node = plain(node)?;
        let dir = file::ensure_top(state_dir)?;
        Ok(Store { dir, path: state_dir.to_owned(), node })
    }

    /// Opens the records of a node if there is a folder of records.
    ///
    /// # Errors
    /// If the folder is a link or is not only ours.
    pub fn open_existing(state_dir: &Path, node: &str) -> Result<Option<Store>, Problem> {
        let node = plain(node)?;
        let opened = file::open_top(state_dir)?;
        Ok(opened.map(|dir| Store { dir, path: state_dir.to_owned(), node }))
    }

    fn unmanaged_name(&self, job_id: u32) -> String {
        format!("{}:unmanaged-{job_id}", self.node)
    }

    fn job_name(&self, job_id: u32) -> String {
        format!("{}:job-{job_id}", self.node)
    }

    /// The record of a managed job, if there is one, without a lock.
    ///
    /// # Errors
    /// If its folder cannot be used. A record inside that cannot be read is told to `complain` and
    /// counts as not there: the folder itself says that the job is managed.
    pub fn job(
        &self,
        job_id: u32,
        complain: &mut dyn FnMut(Problem),
    ) -> Result<Option<Job>, Problem> {
        let name = self.job_name(job_id);
        let path = self.path.join(&name);
        let Some(dir) = file::open_dir(&self.dir, &name, &path)? else {
            return Ok(None);
        };
        let info = self.read_info(&dir, &path, complain);
        Ok(Some(Job::new(dir, path, info)))
    }

    fn read_info(
        &self,
        dir: &OwnedFd,
        path: &Path,
        complain: &mut dyn FnMut(Problem),
    ) -> Option<JobInfo> {
        file::read::<JobInfo>(dir, "job", &path.join("job"), FORMAT).unwrap_or_else(|problem| {
            complain(problem);
            None
        })
    }

    /// Removes the note that a job is unmanaged, if there is one.
    pub fn forget_unmanaged(&self, job_id: u32) {
        file::unlink(&self.dir, &self.unmanaged_name(job_id));
    }

    /// Removes notes of unmanaged jobs that are too old to be believed, and names the managed jobs
    /// whose record nobody has touched for `age`: their epilog may never come.
    pub fn sweep(&self, age: Duration) -> Vec<u32> {
        let mut jobs = Vec::new();
        for name in file::names(&self.dir) {
            let Some((node, rest)) = name.split_once(':') else {
                continue;
            };
            if node != self.node {
                continue;
            }
            if let Some(id) = rest.strip_prefix("unmanaged-") {
                let valid = id.parse::<u32>().is_ok();
                if valid && !file::is_younger(&self.dir, &name, UNMANAGED_LIFE) {
                    file::unlink(&self.dir, &name);
                }
            } else if let Some(id) = rest.strip_prefix("job-").and_then(|id| id.parse().ok())
                && !file::is_younger(&self.dir, &name, age)
            {
                jobs.push(id);
            }
        }
        jobs
    }

    /// Removes the record of a job that owes nothing more.
    pub fn remove(&self, job: Job) {
        job.remove(&self.dir);
    }
}

/// The lock of a job's record, held until it is dropped.
///
/// It is on a descriptor of its own: a record that a step keeps open for its life locks nobody out.
#[must_use]
pub struct Lock {
    _dir: OwnedFd,
}

impl Store {
    /// Locks the record of a job that has one; `None` if another process has it.
    ///
    /// # Errors
    /// If its folder cannot be used.
    pub fn try_lock(&self, job_id: u32) -> Result<Option<Lock>, Problem> {
        let name = self.job_name(job_id);
        let path = self.path.join(&name);
        let Some(dir) = file::open_dir(&self.dir, &name, &path)? else { return Ok(None) };
        match flock(&dir, FlockOperation::NonBlockingLockExclusive) {
            // Removed meanwhile by the one who had it.
            Ok(()) if fstat(&dir).is_ok_and(|stat| stat.st_nlink == 0) => Ok(None),
            Ok(()) => Ok(Some(Lock { _dir: dir })),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(Problem(format!("{}: cannot be locked: {error}", path.display()))),
        }
    }

    /// Locks the record of a job that has one, and waits a while for another process to let it go.
    pub fn lock_existing(&self, job_id: u32) -> Option<Lock> {
        let deadline = Instant::now() + LOCK_PATIENCE;
        while self.path.join(self.job_name(job_id)).exists() && Instant::now() < deadline {
            match self.try_lock(job_id) {
                Ok(Some(lock)) => return Some(lock),
                Ok(None) => std::thread::sleep(LOCK_TURN),
                Err(_) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
