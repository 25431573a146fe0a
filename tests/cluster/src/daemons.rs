//! The daemons that a cluster has started itself.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::io;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::proc;
use crate::spawner::Spawner;

/// Which daemon.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    Munged,
    Slurmctld,
    /// The slurmd of a node.
    Slurmd(String),
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Munged => f.write_str("munged"),
            Self::Slurmctld => f.write_str("slurmctld"),
            Self::Slurmd(node) => write!(f, "slurmd of {node}"),
        }
    }
}

/// Those that were started and not waited for yet.
pub(crate) struct Daemons {
    children: BTreeMap<Name, Child>,
    spawner: Spawner,
}

impl Daemons {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { children: BTreeMap::new(), spawner: Spawner::new()? })
    }

    pub(crate) fn start(&mut self, name: Name, command: Command) -> io::Result<()> {
        let child = self.spawner.spawn(command)?;
        self.children.insert(name, child);
        Ok(())
    }

    pub(crate) fn is_running(&mut self, name: &Name) -> bool {
        self.children.get_mut(name).is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub(crate) fn pid(&self, name: &Name) -> Option<u32> {
        self.children.get(name).map(Child::id)
    }

    /// The names of those that were started and not ended.
    pub(crate) fn names(&self) -> Vec<Name> {
        self.children.keys().cloned().collect()
    }

    /// Sends SIGTERM; [`Daemons::end`] waits.
    pub(crate) fn terminate(&self, name: &Name) {
        if let Some(child) = self.children.get(name) {
            // Not waited for, so the id is still the daemon's, running or zombie.
            proc::signal(child.id(), Signal::TERM);
        }
    }

    /// The process ids of those that were started and not ended.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.children.values().map(Child::id).collect()
    }

    /// Waits for the end of a daemon; kills it after the grace time.
    pub(crate) fn end(&mut self, name: &Name, grace: Duration) {
        let Some(mut child) = self.children.remove(name) else {
            return;
        };
        let start = Instant::now();
        while start.elapsed() < grace && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Neither fails for a child that has ended and was waited for.
        let _ = child.kill();
        let _ = child.wait();
    }
}
