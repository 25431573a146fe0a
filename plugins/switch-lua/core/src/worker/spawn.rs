//! Starts the worker's program, if nobody but root could have written it.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::Failure;

/// Starts the worker; it has the other end of the socket as standard input and output.
pub fn spawn(program: &Path, timeout: Duration) -> Result<UnixStream, Failure> {
    let text = |error: std::io::Error| not_started(program, error);
    let (ours, theirs) = UnixStream::pair().map_err(text)?;
    let output = theirs.try_clone().map_err(text)?;
    // The starter is a descendant of slurmstepd until it has forked: a job that ends just now should
    // not end it. It unblocks everything afterwards.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let spawned = Command::new(program)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .current_dir("/")
        .stdin(OwnedFd::from(theirs))
        .stdout(OwnedFd::from(output))
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mask) = mask {
        // The mask was valid a moment ago.
        let _ = mask.thread_set_mask();
    }
    let mut starter = spawned.map_err(text)?;
    // It forks, and ends at once: the worker is a grandchild that has no parent any more.
    let deadline = Instant::now() + timeout;
    loop {
        match starter.try_wait().map_err(text)? {
            Some(status) if status.success() => return Ok(ours),
            Some(status) if status.code().is_none() => {
                return Err(Failure::Killed(format!("{}: {status}", program.display())));
            }
            Some(status) => {
                return Err(not_started(program, format_args!("it ended with {status}")));
            }
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(200)),
            None => {
                // Our child until it is waited for, so the pid is still its own.
                let _ = starter.kill();
                let _ = starter.try_wait();
                let seconds = timeout.as_secs();
                let why = format_args!("it does not leave slurmstepd within {seconds} s");
                return Err(not_started(program, why));
            }
        }
    }
}

fn not_started(program: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::NotStarted(format!("{}: {why}", program.display()))
}

/// The worker runs as root, so nobody else may have written it.
pub fn trusted(program: &Path) -> Result<(), Failure> {
    let meta = std::fs::metadata(program).map_err(|e| not_started(program, e.to_string()))?;
    let us = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != us {
        return Err(not_started(program, format!("owned by uid {}: chown it to root", meta.uid())));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(not_started(
            program,
            format!("mode {:o} lets others write it: chmod go-w", meta.mode() & 0o7777),
        ));
    }
    Ok(())
}
