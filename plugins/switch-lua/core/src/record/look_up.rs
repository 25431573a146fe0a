//! Whether a job is managed: noted on the node, or asked for once while other steps wait.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::file::{self, Worth};
use super::{FORMAT, Job, JobInfo, LOCK_PATIENCE, LOCK_TURN, Problem, Store, UNMANAGED_LIFE};

/// What a question to slurmctld brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The job asked for `--network`.
    Managed(JobInfo),
    /// It did not.
    Unmanaged {
        /// How often it was requeued.
        restart_count: u32,
    },
}

/// What is known of a job.
#[derive(Debug)]
pub enum Known<E> {
    /// It is managed; its record.
    Managed(Job),
    /// It does not concern us.
    Unmanaged,
    /// Nobody could say.
    Failed(E),
    /// Another step asked a moment ago and got no answer, or has been asking for too long.
    Unanswered,
}

#[derive(Serialize, Deserialize)]
struct Unmanaged {
    format: u32,
    restart_count: u32,
}

#[derive(Serialize, Deserialize)]
struct Failed {
    format: u32,
}

/// The note in a job's folder that a look-up failed.
const FAILED: &str = "failed";

/// How long a failed look-up counts for other steps too: each would wait 20 s in vain, one by one.
const FAILED_LIFE: Duration = Duration::from_secs(30);

impl Store {
    /// What is known of a job; where nothing is, `ask` is called once and its answer noted, and
    /// other steps of the job on this node wait for it.
    ///
    /// `restart_count` is what the step's environment says. The user can change that, which costs
    /// one more look-up and nothing else; the record itself goes by what slurmctld says.
    ///
    /// # Errors
    /// If the record cannot be read or written.
    pub fn look_up<E>(
        &self,
        job_id: u32,
        restart_count: u32,
        ask: impl FnOnce() -> Result<Asked, E>,
        complain: &mut dyn FnMut(Problem),
    ) -> Result<Known<E>, Problem> {
        if let Some(known) = self.noted(job_id, restart_count, complain)? {
            return Ok(known);
        }
        // What is wrong with a record is said once.
        let mut quiet = |_| {};
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            let name = self.job_name(job_id);
            file::make_dir(&self.dir, &name, &self.path.join(&name))?;
            let lock = self.try_lock(job_id)?;
            // Another step may have answered the question in between.
            if let Some(known) = self.noted(job_id, restart_count, &mut quiet)? {
                return Ok(known);
            }
            if lock.is_some() {
                return self.note(job_id, ask());
            }
            if Instant::now() >= deadline {
                return Ok(Known::Unanswered);
            }
            std::thread::sleep(LOCK_TURN);
        }
    }

    /// What earlier steps have noted.
    fn noted<E>(
        &self,
        job_id: u32,
        restart_count: u32,
        complain: &mut dyn FnMut(Problem),
    ) -> Result<Option<Known<E>>, Problem> {
        if self.is_unmanaged(job_id, restart_count, complain) {
            return Ok(Some(Known::Unmanaged));
        }
        let Some(job) = self.job(job_id, complain)? else { return Ok(None) };
        if job.info.as_ref().is_some_and(|info| info.restart_count == restart_count) {
            return Ok(Some(Known::Managed(job)));
        }
        Ok(job.is_noted(FAILED, FAILED_LIFE).then_some(Known::Unanswered))
    }

    fn note<E>(&self, job_id: u32, asked: Result<Asked, E>) -> Result<Known<E>, Problem> {
        let Some(mut job) = self.job(job_id, &mut |_| {})? else {
            return Err(Problem(format!("{}: removed by somebody", self.path.display())));
        };
        match asked {
            Ok(Asked::Managed(info)) => {
                job.write_info(info)?;
                job.unlink(FAILED);
                Ok(Known::Managed(job))
            }
            Ok(Asked::Unmanaged { restart_count }) => {
                let name = self.unmanaged_name(job_id);
                let note = Unmanaged { format: FORMAT, restart_count };
                let path = self.path.join(&name);
                let written = file::write(&self.dir, &name, &path, &note, Worth::Note);
                job.unlink(FAILED);
                // Steps of an earlier run that still owe something keep the folder.
                job.remove_if_empty(&self.dir);
                written.map(|()| Known::Unmanaged)
            }
            Err(error) => {
                job.write_note(FAILED, &Failed { format: FORMAT });
                Ok(Known::Failed(error))
            }
        }
    }

    fn is_unmanaged(
        &self,
        job_id: u32,
        restart_count: u32,
        complain: &mut dyn FnMut(Problem),
    ) -> bool {
        let name = self.unmanaged_name(job_id);
        let path = self.path.join(&name);
        if !file::is_younger(&self.dir, &name, UNMANAGED_LIFE) {
            return false;
        }
        match file::read::<Unmanaged>(&self.dir, &name, &path, FORMAT) {
            Ok(note) => note.is_some_and(|note| note.restart_count == restart_count),
            Err(problem) => {
                complain(problem);
                false
            }
        }
    }
}
