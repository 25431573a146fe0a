//! The record of one managed job: its steps, what they owe, and their tasks.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use serde::{Deserialize, Serialize};

use super::file::{self, Worth};
use super::{FORMAT, JobInfo, Problem};
use crate::process::{self, Process};

/// One step of one run of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepKey {
    /// The run: how often the job was requeued before.
    pub run: u32,
    /// The step's number.
    pub step: u32,
}

impl StepKey {
    fn file(self, kind: &str) -> String {
        format!("{}.{}.{kind}", self.run, self.step)
    }

    fn parse(name: &str) -> Option<StepKey> {
        let (run, step) = name.strip_suffix(".step")?.split_once('.')?;
        Some(StepKey { run: run.parse().ok()?, step: step.parse().ok()? })
    }
}

/// What a step owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Its preinit was started, and its postfini has not reported.
    Open,
    /// Its postfini reported a negative number, and the node is not drained yet.
    Drain,
}

/// The record of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    format: u32,
    /// What it owes.
    pub status: StepStatus,
    /// Its slurmstepd.
    pub stepd: Option<Process>,
    /// Its user.
    pub uid: u32,
    /// The boot in which its processes have their ids; those of another boot name nobody.
    #[serde(default)]
    boot: String,
    /// Why the node is to be drained.
    #[serde(default)]
    pub reason: String,
}

impl StepRecord {
    /// A step whose preinit is about to be called.
    pub fn open(stepd: Option<Process>, uid: u32) -> StepRecord {
        StepRecord {
            format: FORMAT,
            status: StepStatus::Open,
            stepd,
            uid,
            boot: process::boot(),
            reason: String::new(),
        }
    }

    /// Its slurmstepd, if that can still be one: not after a reboot.
    pub fn live_stepd(&self) -> Option<Process> {
        self.stepd.filter(|stepd| self.is_of_this_boot() && stepd.is_alive())
    }

    /// Whether its processes are of this boot.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == process::boot()
    }

    /// The same step after a postfini that wants the node drained.
    pub fn to_drain(mut self, reason: String) -> StepRecord {
        self.status = StepStatus::Drain;
        self.reason = reason;
        self
    }
}

/// A step as the epilog finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepState {
    /// Its record.
    Known(StepRecord),
    /// A record that cannot be read; that it is there says that a postfini is owed.
    Torn,
}

/// The record of a job, held open.
#[derive(Debug)]
pub struct Job {
    dir: OwnedFd,
    path: PathBuf,
    /// What slurmctld said; `None` if that record is missing or torn.
    pub info: Option<JobInfo>,
}

impl Job {
    pub(super) fn new(dir: OwnedFd, path: PathBuf, info: Option<JobInfo>) -> Job {
        Job { dir, path, info }
    }

    pub(super) fn write_info(&mut self, info: JobInfo) -> Result<(), Problem> {
        file::write(&self.dir, "job", &self.path.join("job"), &info, Worth::Kept)?;
        self.info = Some(info);
        Ok(())
    }

    /// Writes a note that only saves work; one that cannot be written saves none.
    pub(super) fn write_note<T: Serialize>(&self, name: &str, note: &T) {
        let _ = file::write(&self.dir, name, &self.path.join(name), note, Worth::Note);
    }

    pub(super) fn is_noted(&self, name: &str, life: Duration) -> bool {
        file::is_younger(&self.dir, name, life)
    }

    pub(super) fn unlink(&self, name: &str) {
        file::unlink(&self.dir, name);
    }

    /// Notes what a step owes.
    ///
    /// # Errors
    /// If the note cannot be written; an earlier one is then still in place.
    pub fn write_step(&self, key: StepKey, record: &StepRecord) -> Result<(), Problem> {
        let name = key.file("step");
        file::write(&self.dir, &name, &self.path.join(&name), record, Worth::Kept)
    }

    /// Notes that a step owes nothing more.
    pub fn close_step(&self, key: StepKey) {
        file::unlink(&self.dir, &key.file("tasks"));
        file::unlink(&self.dir, &key.file("step"));
    }

    /// All steps that owe something. A record that cannot be read is told to `complain`.
    pub fn steps(&self, complain: &mut dyn FnMut(Problem)) -> BTreeMap<StepKey, StepState> {
        let mut steps = BTreeMap::new();
        for name in file::names(&self.dir) {
            let Some(key) = StepKey::parse(&name) else {
                continue;
            };
            let state = match file::read(&self.dir, &name, &self.path.join(&name), FORMAT) {
                Ok(Some(record)) => StepState::Known(record),
                Ok(None) => continue,
                Err(problem) => {
                    complain(problem);
                    StepState::Torn
                }
            };
            steps.insert(key, state);
        }
        steps
    }

    /// Notes a task of a step, so that the epilog can end it if its slurmstepd dies.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn note_task(&self, key: StepKey, task: Process) -> Result<(), Problem> {
        let name = key.file("tasks");
        let line = format!("{} {}\n", task.pid, task.start);
        file::append(&self.dir, &name, &self.path.join(&name), &line)
    }

    /// The tasks of a step that were noted; a line that is cut is passed over.
    pub fn tasks(&self, key: StepKey) -> Vec<Process> {
        file::text(&self.dir, &key.file("tasks"))
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'))
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(pid, start)| {
                Some(Process { pid: pid.parse().ok()?, start: start.parse().ok()? })
            })
            .collect()
    }

    /// Marks the record as looked after, so that the next sweep leaves it alone for a while.
    pub fn touch(&self) {
        // A record that cannot be touched is looked at again the next time.
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = futimens(&self.dir, &Timestamps { last_access: now, last_modification: now });
    }

    pub(super) fn remove_if_empty(self, node: &OwnedFd) {
        if let Some(name) = self.path.file_name().and_then(std::ffi::OsStr::to_str) {
            file::remove_dir(node, name);
        }
    }

    pub(super) fn remove(self, node: &OwnedFd) {
        for name in file::names(&self.dir) {
            file::unlink(&self.dir, &name);
        }
        self.remove_if_empty(node);
    }
}
