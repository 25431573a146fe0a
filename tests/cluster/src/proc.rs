//! Finds the processes of one cluster in `/proc`.
//!
//! slurmstepd overwrites its environment with its title and is a child of init, so environment and
//! descent alone don't find it; the files it holds open do (measured with 22.05.8).
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One process, as far as it could be read.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) uid: u32,
    pub(crate) comm: String,
}

impl Process {
    /// Reads one process; nothing for one that is gone or only waits to be reaped.
    fn read(pid: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let field = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()
        };
        if field("State:")? == "Z" {
            return None;
        }
        Some(Self {
            pid,
            parent: field("PPid:")?.parse().ok()?,
            uid: field("Uid:")?.parse().ok()?,
            comm: field("Name:")?.to_owned(),
        })
    }

    /// The command line, or the title that replaced it.
    pub(crate) fn title(&self) -> String {
        let raw = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let text = String::from_utf8_lossy(&raw).replace('\0', " ");
        text.trim_end().to_owned()
    }

    fn link(&self, name: &str) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/{name}", self.pid)).ok()
    }

    /// The open files that have a path below this directory.
    pub(crate) fn files_below(&self, dir: &Path) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", self.pid)) else {
            return Vec::new();
        };
        let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        links.filter(|path| path.starts_with(dir)).collect()
    }

    fn has_variable(&self, variable: &[u8]) -> bool {
        let environ = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|entry| entry == variable)
    }

    /// Whether this process alone, without looking at its ancestors, shows that it belongs to the
    /// cluster.
    fn belongs(&self, dir: &Path, job_uid: u32) -> bool {
        let slurm_program = || {
            let exe = self.link("exe").and_then(|exe| Some(exe.file_name()?.to_str()?.to_owned()));
            exe.is_some_and(|name| name.starts_with("slurm") || name.starts_with("munge"))
        };
        let conf = format!("SLURM_CONF={}/etc/slurm.conf", dir.display());
        self.has_variable(conf.as_bytes())
            || (slurm_program() && !self.files_below(dir).is_empty())
            || (self.uid == job_uid && self.link("cwd").is_some_and(|cwd| cwd.starts_with(dir)))
    }
}

/// Every process of the machine.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter_map(Process::read).collect()
}

/// The processes of the cluster in `dir`: those that show it by environment, open files or working
/// directory, and their descendants. This process and its ancestors are never among them.
pub(crate) fn of_cluster(dir: &Path, job_uid: u32) -> Vec<Process> {
    let all = all();
    let mut spared = BTreeSet::new();
    let mut next = std::process::id();
    while next != 0 && spared.insert(next) {
        next = all.iter().find(|process| process.pid == next).map_or(0, |process| process.parent);
    }
    let mut found: BTreeSet<u32> = BTreeSet::new();
    for process in &all {
        if !spared.contains(&process.pid) && process.belongs(dir, job_uid) {
            found.insert(process.pid);
        }
    }
    loop {
        let before = found.len();
        for process in &all {
            if found.contains(&process.parent) && !spared.contains(&process.pid) {
                found.insert(process.pid);
            }
        }
        if found.len() == before {
            break;
        }
    }
    all.into_iter().filter(|process| found.contains(&process.pid)).collect()
}

/// Sends a signal; a process that is gone already is no error.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
