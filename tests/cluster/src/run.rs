//! Runs a command against the cluster, as the job user or as root.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::process;

const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the rest of the output may take after the process has ended.
const DRAIN: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(2);

/// A command that is not started yet.
#[derive(Debug)]
pub struct Run {
    command: Command,
    text: String,
    stdin: Option<Vec<u8>>,
    timeout: Duration,
}

/// What a command did.
#[derive(Debug, Clone)]
pub struct Output {
    /// The exit code; none when a signal ended the command.
    pub code: Option<i32>,
    /// The signal that ended the command.
    pub signal: Option<i32>,
    /// Whether the time limit ended the command.
    pub timed_out: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error; after a timeout the last line says so.
    pub stderr: String,
    /// From start to end.
    pub elapsed: Duration,
}

impl Run {
    pub(crate) fn new(args: &[&str]) -> Self {
        let mut args = args.iter();
        let program = args.next().copied().unwrap_or_default();
        let mut command = Command::new(program);
        command.args(args).env_clear();
        process::detach(&mut command);
        let text = format!("{command:?}");
        Self { command, text, stdin: None, timeout: TIMEOUT }
    }

    pub(crate) fn identity(mut self, uid: u32, gid: u32) -> Self {
        self.command.uid(uid).gid(gid);
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.command.env(key.into(), value.into());
        self
    }

    /// Gives the command this input; without it, it reads `/dev/null`.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets how long [`Run::output`] waits; 60 seconds unless set.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the working directory; the cluster's `work` unless set.
    #[must_use]
    pub fn cwd(mut self, dir: impl Into<PathBuf>) -> Self {
        self.command.current_dir(dir.into());
        self
    }

    /// Runs the command to its end. After the time limit its process group is killed.
    ///
    /// # Panics
    /// When the program can't be started.
    #[must_use]
    pub fn output(self) -> Output {
        let timeout = self.timeout;
        self.spawn().wait_for(timeout)
    }

    /// Starts the command in the background.
    ///
    /// # Panics
    /// When the program can't be started.
    #[must_use]
    pub fn spawn(mut self) -> Background {
        let input = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = Instant::now();
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(error) => panic!("could not start {}: {error}", self.text),
        };
        if let (Some(bytes), Some(mut pipe)) = (self.stdin, child.stdin.take()) {
            // A command may end without reading its input.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let stdout = Collector::start(child.stdout.take());
        let stderr = Collector::start(child.stderr.take());
        Background { child, text: self.text, timeout: self.timeout, started, stdout, stderr }
    }
}

/// A command that runs in the background. Dropping it kills its process group.
#[derive(Debug)]
pub struct Background {
    child: Child,
    text: String,
    timeout: Duration,
    started: Instant,
    stdout: Collector,
    stderr: Collector,
}

impl Background {
    /// The process id of the command.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the command, not to its process group.
    ///
    /// # Panics
    /// When there is no such signal.
    pub fn kill(&self, signal: i32) {
        let Some(signal) = Signal::from_named_raw(signal) else { panic!("no signal {signal}") };
        if let Some(pid) = self.group() {
            // The command stays a zombie until it is waited for, so the id can't be another's.
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether the command still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// What the command has written to its standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What the command has written to its standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Waits for the end, as long as [`Run::timeout`] says from now on; then kills the process
    /// group.
    #[must_use]
    pub fn wait(self) -> Output {
        let timeout = self.timeout;
        self.wait_for(timeout)
    }

    fn wait_for(mut self, timeout: Duration) -> Output {
        let start = Instant::now();
        let mut timed_out = false;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if start.elapsed() < timeout => std::thread::sleep(POLL),
                Ok(None) => {
                    timed_out = true;
                    break self.kill_group();
                }
                Err(error) => panic!("could not wait for {}: {error}", self.text),
            }
        };
        let elapsed = self.started.elapsed();
        self.stdout.drain();
        self.stderr.drain();
        let mut stderr = self.stderr.text();
        if timed_out {
            stderr.push_str(&format!("\n{} was killed after {timeout:?}\n", self.text));
        }
        Output {
            code: if timed_out { None } else { status.code() },
            signal: status.signal(),
            timed_out,
            stdout: self.stdout.text(),
            stderr,
            elapsed,
        }
    }

    fn group(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.id()).ok()?)
    }

    fn kill_group(&mut self) -> ExitStatus {
        if let Some(group) = self.group() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.child.wait().unwrap_or_default()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.is_running() {
            self.kill_group();
        }
    }
}

/// Reads a stream in a thread of its own.
#[derive(Debug)]
struct Collector {
    bytes: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl Collector {
    fn start(stream: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (ended, end) = channel();
        let shared = Arc::clone(&bytes);
        if let Some(mut stream) = stream {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer) {
                    let part = buffer.get(..length).unwrap_or_default();
                    shared.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
                }
                // Nobody listens any more when the command was not waited for.
                let _ = ended.send(());
            });
        }
        Self { bytes, end }
    }

    /// Waits for the end of the stream, which a process left behind by the command can hold open.
    fn drain(&self) {
        let _ = self.end.recv_timeout(DRAIN);
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
