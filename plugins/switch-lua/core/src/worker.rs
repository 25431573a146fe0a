//! The plug-in's side of the worker process that runs the script.
//!
//! slurmstepd never runs Lua: the worker is a program of its own. It leaves slurmstepd's family at
//! once, since proctrack/linuxproc takes every descendant for a task and ends it with the job, in the
//! middle of a postfini (measured on 22.05). So it is not our child; a guard process of its own kills
//! it, with its children, when our end of the pipe closes: at the deadline, and when slurmstepd dies.
//! A crash of the worker is an answer like any other.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::wire::{Answer, Change, Function, Identity, Level, Reply, Request, Step, Text};

/// The longest reply, far above what an environment can hold.
const LONGEST_REPLY: usize = 64 << 20;

/// How long a worker that has nothing more to do gets to end by itself.
const GOODBYE: Duration = Duration::from_secs(2);

/// Takes the lines that the script logs.
pub type LogSink<'l> = &'l mut dyn FnMut(Level, &Text);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The worker could not be started.
    NotStarted(String),
    /// The script cannot be loaded.
    NotLoaded(String),
    /// The time was up.
    TimedOut(Duration),
    /// The worker ended without an answer.
    Ended(String),
    /// The worker said something that is no reply.
    Protocol(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::NotStarted(why) => write!(f, "the worker cannot be started: {why}"),
            Failure::NotLoaded(why) => f.write_str(why),
            Failure::TimedOut(limit) => write!(
                f,
                "no answer within {} s (timeout=): killed with its children",
                limit.as_secs()
            ),
            Failure::Ended(how) => write!(f, "the worker ended without an answer: {how}"),
            Failure::Protocol(what) => write!(f, "the worker's reply makes no sense: {what}"),
        }
    }
}

/// What a loaded script has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The file it was read from.
    pub identity: Identity,
    /// The step functions it defines.
    pub functions: Vec<Function>,
    /// Whether batch and interactive steps are to be set up.
    pub special_steps: bool,
}

/// A running worker with a loaded script. Dropping it kills it.
pub struct Worker {
    requests: Option<ChildStdin>,
    replies: ChildStdout,
    buffer: Vec<u8>,
    timeout: Duration,
}

impl Worker {
    /// Starts `program` and has it load `script`, within `timeout`.
    ///
    /// # Errors
    /// If the program cannot be started or the script cannot be loaded. No process is left.
    pub fn start(
        program: &Path,
        script: &Path,
        timeout: Duration,
        log: LogSink<'_>,
    ) -> Result<(Worker, Loaded), Failure> {
        trusted(program)?;
        let not_started =
            |why: String| Failure::NotStarted(format!("{}: {why}", program.display()));
        // The starter is a descendant of slurmstepd until it has forked: a job that ends just now
        // must not end it. It unblocks everything afterwards.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let spawned = Command::new(program)
            .env_clear()
            .env(
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            )
            .env("LC_ALL", "C.UTF-8")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        if let Ok(mask) = mask {
            // The mask was valid a moment ago.
            let _ = mask.thread_set_mask();
        }
        let mut starter = spawned.map_err(|e| not_started(e.to_string()))?;
        let (requests, replies) = (starter.stdin.take(), starter.stdout.take());
        // It has forked, and ends: the worker is a grandchild that has no parent any more.
        let started = starter.wait().map_err(|e| not_started(e.to_string()))?;
        let (Some(_), Some(replies), true) = (&requests, replies, started.success()) else {
            return Err(not_started(format!("it ended with {started}")));
        };
        let mut worker = Worker {
            requests,
            replies,
            buffer: Vec::new(),
            timeout,
        };
        worker.never_block()?;
        match worker.ask(
            &Request::Load {
                script: script.to_owned(),
            },
            log,
        )? {
            Reply::Loaded {
                identity,
                functions,
                special_steps,
            } => Ok((
                worker,
                Loaded {
                    identity,
                    functions,
                    special_steps,
                },
            )),
            Reply::NotLoaded { reason } => Err(Failure::NotLoaded(reason)),
            other => Err(Failure::Protocol(format!("{other:?}"))),
        }
    }

    /// Calls one function of the script, within the timeout. After an error the worker is gone.
    ///
    /// # Errors
    /// If the worker crashes, ends, or gives no answer in time.
    pub fn call(
        &mut self,
        function: Function,
        step: &Step,
        log: LogSink<'_>,
    ) -> Result<(Answer, Vec<Change>), Failure> {
        match self.ask(
            &Request::Call {
                function,
                step: step.clone(),
            },
            log,
        )? {
            Reply::Done {
                answer,
                environment,
            } => Ok((answer, environment)),
            other => {
                self.kill();
                Err(Failure::Protocol(format!("{other:?}")))
            }
        }
    }

    /// Lets the worker end. What the script left running in the background stays, as it does under
    /// a native slurmstepd.
    pub fn finish(mut self) {
        let deadline = Instant::now() + GOODBYE;
        if self.send(&Request::Finish, deadline).is_ok() {
            self.wait_for_end(deadline);
        }
    }

    fn ask(&mut self, request: &Request, log: LogSink<'_>) -> Result<Reply, Failure> {
        let deadline = Instant::now() + self.timeout;
        let outcome = self.send(request, deadline).and_then(|()| {
            loop {
                match self.receive(deadline)? {
                    Reply::Log { level, text } => log(level, &text),
                    Reply::Ended { how } => return Err(Failure::Ended(how)),
                    reply => return Ok(reply),
                }
            }
        });
        if outcome.is_err() {
            self.kill();
        }
        outcome
    }

    fn send(&mut self, request: &Request, deadline: Instant) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(request).map_err(|e| Failure::Protocol(e.to_string()))?;
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let Some(requests) = self.requests.as_mut() else {
                return Err(Failure::Ended("it was killed before".into()));
            };
            match requests.write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if again(&error) => {
                    if !wait_for(&*requests, PollFlags::OUT, deadline) {
                        return Err(Failure::TimedOut(self.timeout));
                    }
                }
                // It has ended; how, its guard says.
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    fn receive(&mut self, deadline: Instant) -> Result<Reply, Failure> {
        let mut chunk = [0u8; 16 * 1024];
        let mut searched = 0;
        loop {
            if let Some(at) = self
                .buffer
                .iter()
                .skip(searched)
                .position(|byte| *byte == b'\n')
            {
                let line: Vec<u8> = self.buffer.drain(..=searched + at).collect();
                return serde_json::from_slice(&line).map_err(|e| {
                    let start =
                        String::from_utf8_lossy(line.get(..80).unwrap_or(&line)).into_owned();
                    Failure::Protocol(format!("{e}: {start:?}"))
                });
            }
            searched = self.buffer.len();
            if searched > LONGEST_REPLY {
                return Err(Failure::Protocol(format!(
                    "longer than {LONGEST_REPLY} bytes"
                )));
            }
            match self.replies.read(&mut chunk) {
                Ok(0) => return Err(Failure::Ended("and its guard too".into())),
                Ok(count) => self
                    .buffer
                    .extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if again(&error) => {
                    if !wait_for(&self.replies, PollFlags::IN, deadline) {
                        return Err(Failure::TimedOut(self.timeout));
                    }
                }
                Err(error) => return Err(Failure::Ended(error.to_string())),
            }
        }
    }

    fn never_block(&self) -> Result<(), Failure> {
        let set = |fd: std::os::fd::BorrowedFd<'_>| {
            fcntl_getfl(fd).and_then(|flags| fcntl_setfl(fd, flags | OFlags::NONBLOCK))
        };
        let requests = self
            .requests
            .as_ref()
            .map_or(Ok(()), |pipe| set(pipe.as_fd()));
        requests
            .and_then(|()| set(self.replies.as_fd()))
            .map_err(|e| Failure::NotStarted(format!("its pipes: {e}")))
    }

    /// Has the worker killed with its children, and waits until it is gone.
    fn kill(&mut self) {
        self.requests = None;
        self.wait_for_end(Instant::now() + GOODBYE);
    }

    /// Its end of the pipe closes when worker and guard have ended.
    fn wait_for_end(&mut self, deadline: Instant) {
        let mut rest = [0u8; 4096];
        while wait_for(&self.replies, PollFlags::IN, deadline) {
            match self.replies.read(&mut rest) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if again(&error) => {}
                Err(_) => return,
            }
        }
    }
}

fn again(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
    )
}

/// Waits until the pipe is ready or closed; false at the deadline.
fn wait_for(pipe: &impl AsFd, flags: PollFlags, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let left = Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(pipe, flags)], Some(&left)) {
            Ok(0) => return false,
            Err(rustix::io::Errno::INTR) => {}
            _ => return true,
        }
    }
}

/// The worker runs as root, so nobody else may have written it.
fn trusted(program: &Path) -> Result<(), Failure> {
    let refuse = |why: String| Failure::NotStarted(format!("{}: {why}", program.display()));
    let meta = std::fs::metadata(program).map_err(|e| refuse(e.to_string()))?;
    let us = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != us {
        return Err(refuse(format!(
            "owned by uid {}: chown it to root",
            meta.uid()
        )));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(refuse(format!(
            "mode {:o} lets others write it: chmod go-w",
            meta.mode() & 0o7777
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// Everything else is tested with the real worker, in its own package.
    #[test]
    fn a_worker_that_others_can_write_or_that_is_missing_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("worker");
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o775)).unwrap();
        let start = |path: &Path| {
            let limit = Duration::from_secs(5);
            Worker::start(path, Path::new("/x"), limit, &mut |_, _| {})
                .err()
                .unwrap()
                .to_string()
        };
        assert!(start(&path).contains("chmod go-w"));
        assert!(start(Path::new("/no/worker")).contains("/no/worker"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(start(&path).contains("ended without an answer"));
    }
}
