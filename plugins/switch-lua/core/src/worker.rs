//! The plug-in's side of the worker process that runs the script.
//!
//! slurmstepd never runs Lua: the worker is a program of its own. It leaves slurmstepd's family at
//! once, since proctrack/linuxproc takes every descendant for a task and ends it with the job, in the
//! middle of a postfini (measured on 22.05). So it is not our child; a guard process of its own kills
//! it, with its children, when our end of the socket closes: at the deadline, and when slurmstepd dies.
//! A crash of the worker is an answer like any other.

mod spawn;

use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::PREFIX;
use crate::wire::{Answer, Change, Function, Level, Reply, Request, Step, Text, VERSION};
use spawn::{spawn, trusted};

/// How much one call may log.
const MOST_LINES: u32 = 1000;
/// How many bytes these may be together, about.
const MOST_BYTES: usize = 1 << 20;

/// The longest reply, far above what an environment can hold.
const LONGEST_REPLY: usize = 64 << 20;

/// How often a worker is started if it is killed before it has loaded the script.
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// How long a worker that has nothing more to do gets to end by itself.
const GOODBYE: Duration = Duration::from_secs(2);

/// Takes the lines that the script logs.
pub type LogSink<'l> = &'l mut dyn FnMut(Level, &Text);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The worker could not be started.
    NotStarted(String),
    /// The worker was killed, or ended by itself, before the script was loaded.
    Killed(String),
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
            Failure::Killed(how) => {
                write!(f, "the worker ended before it had loaded the script: {how}")
            }
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
    /// The step functions it defines.
    pub functions: Vec<Function>,
    /// Whether batch and interactive steps are to be set up.
    pub special_steps: bool,
}

/// A running worker with a loaded script. Dropping it kills it.
pub struct Worker {
    socket: UnixStream,
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
        let mut tries = TRIES;
        loop {
            tries -= 1;
            match Worker::start_once(program, script, timeout, log) {
                // A step that is being killed may take the starter, or what it has just forked, for a
                // task (proctrack/linuxproc): that is over in a moment.
                Err(Failure::Killed(_)) if tries > 0 => std::thread::sleep(BETWEEN_TRIES),
                other => return other,
            }
        }
    }

    fn start_once(
        program: &Path,
        script: &Path,
        timeout: Duration,
        log: LogSink<'_>,
    ) -> Result<(Worker, Loaded), Failure> {
        let socket = spawn(program, timeout)?;
        let mut worker = Worker { socket, buffer: Vec::new(), timeout };
        let load = Request::Load { version: VERSION, script: script.to_owned() };
        let reply = worker.ask(&load, log).map_err(|failure| match failure {
            Failure::Ended(how) => Failure::Killed(format!("{}: {how}", program.display())),
            other => other,
        })?;
        match reply {
            Reply::Loaded { functions, special_steps } => {
                Ok((worker, Loaded { functions, special_steps }))
            }
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
        match self.ask(&Request::Call { function, step: step.clone() }, log)? {
            Reply::Done { answer, environment } => Ok((answer, environment)),
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
        let mut lines = Lines::default();
        let outcome = self.send(request, deadline).and_then(|()| {
            loop {
                match self.receive(deadline)? {
                    Reply::Log { level, text } => {
                        if lines.allow(&text) {
                            log(level, &text);
                        }
                    }
                    Reply::Ended { how } => return Err(Failure::Ended(how)),
                    reply => return Ok(reply),
                }
            }
        });
        lines.sum_up(log);
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
            // No SIGPIPE: not every Slurm process that loads a plug-in ignores it.
            match rustix::net::send(&self.socket, rest, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => {
                    if !wait_for(&self.socket, PollFlags::OUT, deadline) {
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
            // A script that never stops logging has an end, too.
            if Instant::now() >= deadline {
                return Err(Failure::TimedOut(self.timeout));
            }
            if let Some(at) = self.buffer.iter().skip(searched).position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=searched + at).collect();
                return serde_json::from_slice(&line).map_err(|e| {
                    let start =
                        String::from_utf8_lossy(line.get(..80).unwrap_or(&line)).into_owned();
                    Failure::Protocol(format!("{e}: {start:?}"))
                });
            }
            searched = self.buffer.len();
            if searched > LONGEST_REPLY {
                return Err(Failure::Protocol(format!("longer than {LONGEST_REPLY} bytes")));
            }
            match rustix::net::recv(&self.socket, &mut chunk, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(Failure::Ended("and its guard too".into())),
                Ok((count, _)) => {
                    self.buffer.extend_from_slice(chunk.get(..count).unwrap_or_default());
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    if !wait_for(&self.socket, PollFlags::IN, deadline) {
                        return Err(Failure::TimedOut(self.timeout));
                    }
                }
                Err(error) => return Err(Failure::Ended(error.to_string())),
            }
        }
    }

    /// Has the worker killed with its children, and waits until it is gone.
    fn kill(&mut self) {
        // An error means that the other end is closed already.
        let _ = self.socket.shutdown(Shutdown::Write);
        self.wait_for_end(Instant::now() + GOODBYE);
    }

    /// Its end of the socket closes when worker and guard have ended.
    fn wait_for_end(&mut self, deadline: Instant) {
        let mut rest = [0u8; 4096];
        while wait_for(&self.socket, PollFlags::IN, deadline) {
            match rustix::net::recv(&self.socket, &mut rest, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return,
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

/// Bounds what one call may log: a loop around a log call would fill the disk of a node.
#[derive(Default)]
struct Lines {
    lines: u32,
    bytes: usize,
    dropped: u64,
}

impl Lines {
    fn allow(&mut self, text: &Text) -> bool {
        let fits = self.lines < MOST_LINES && self.bytes < MOST_BYTES;
        if fits {
            self.lines += 1;
            self.bytes += text.as_bytes().len();
        } else {
            self.dropped += 1;
        }
        fits
    }

    fn sum_up(&self, log: LogSink<'_>) {
        if self.dropped > 0 {
            let text = format!(
                "{PREFIX}: {} more lines of the script are dropped: a call may log {MOST_LINES} \
                 lines and {MOST_BYTES} bytes",
                self.dropped
            );
            log(Level::Error, &Text::Utf8(text));
        }
    }
}

/// Waits until the socket is ready or closed; false at the deadline.
fn wait_for(socket: &impl AsFd, flags: PollFlags, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let left =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(socket, flags)], Some(&left)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            _ => return true,
        }
    }
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
            Worker::start(path, Path::new("/x"), limit, &mut |_, _| {}).err().unwrap().to_string()
        };
        assert!(start(&path).contains("chmod go-w"));
        assert!(start(Path::new("/no/worker")).contains("/no/worker"));
        assert!(start(Path::new("/bin/true")).contains("ended before it had loaded"));
        assert!(start(Path::new("/bin/false")).contains("exit status: 1"));
    }
}
