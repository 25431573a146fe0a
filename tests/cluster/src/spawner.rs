//! A thread that lives as long as its cluster and starts the daemons.
//!
//! The kernel's death signal follows the thread that forked, not the process, and a test may start
//! a cluster in one thread and drop it in another.
#![forbid(unsafe_code)]

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use crate::process;

type Request = (Command, Sender<io::Result<Child>>);

/// The thread; daemons started by it are killed when it ends.
pub(crate) struct Spawner {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Spawner {
    pub(crate) fn new() -> io::Result<Self> {
        let (requests, inbox) = channel::<Request>();
        let thread = std::thread::Builder::new().name("slurm-spawner".into()).spawn(move || {
            for (mut command, reply) in inbox {
                process::detach_until_death(&mut command);
                // The asker waits for the answer, so there always is a receiver.
                let _ = reply.send(command.spawn());
            }
        })?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    pub(crate) fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the thread that starts daemons is gone");
        let (reply, answer) = channel();
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        requests.send((command, reply)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
