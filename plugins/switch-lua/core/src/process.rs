//! Processes by pid and start time, so that a reused pid is never taken for the old process.

use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// One process, for as long as the machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its pid.
    pub pid: i32,
    /// Its start, in clock ticks since boot (field 22 of `/proc/PID/stat`).
    pub start: u64,
}

/// What `/proc/PID/stat` says of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub process: Process,
    /// Its name, at most 15 bytes.
    pub comm: String,
    /// Its state, such as `R`; `Z` and `X` are dead.
    pub state: char,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
}

impl Stat {
    /// Whether it still runs.
    pub fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Reads one line of `/proc/PID/stat`; the name in it may hold blanks and parentheses.
pub fn parse(line: &str) -> Option<Stat> {
    let (pid, rest) = line.split_once(" (")?;
    let (comm, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        process: Process { pid: pid.parse().ok()?, start: fields.get(19)?.parse().ok()? },
        comm: comm.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
    })
}

/// The state of a pid now; `None` if there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// All processes that `/proc` shows.
pub fn all() -> Vec<Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
        .filter_map(stat)
        .collect()
}

/// The id of this boot; empty if the kernel does not say.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// The real user of a process. Not the owner of its folder in /proc: that is root's as soon as the
/// process forbids to be traced.
pub fn uid(pid: i32) -> Option<u32> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    String::from_utf8_lossy(&status)
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .and_then(|ids| ids.split_ascii_whitespace().next()?.parse().ok())
}

impl Process {
    /// The process with this pid, if there is one.
    pub fn of(pid: i32) -> Option<Process> {
        stat(pid).map(|stat| stat.process)
    }

    /// The calling process.
    pub fn this() -> Option<Process> {
        i32::try_from(std::process::id()).ok().and_then(Process::of)
    }

    /// Kills it, if it still is the process that was meant and belongs to `uid`: the descriptor holds
    /// on to one process while that is looked at.
    pub fn kill(self, uid: u32) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let held = pidfd_open(pid, PidfdFlags::empty());
        if !self.is_alive() || self::uid(self.pid) != Some(uid) {
            return;
        }
        // An error means that it has just ended.
        let _ = match held {
            Ok(held) => pidfd_send_signal(&held, Signal::KILL),
            // Kernels before 5.3.
            Err(Errno::NOSYS) => kill_process(pid, Signal::KILL),
            Err(_) => Ok(()),
        };
    }

    /// Whether it still runs.
    pub fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.process == self && stat.is_alive())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_is_read() {
        let line = "12 (a) b (c) S 1 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9 9";
        let stat = parse(line).unwrap();
        assert_eq!(stat.process, Process { pid: 12, start: 777 });
        assert_eq!(
            (stat.comm.as_str(), stat.state, stat.parent, stat.group),
            ("a) b (c", 'S', 1, 10)
        );
        assert!(parse("12 (cut").is_none());
    }

    #[test]
    fn this_process_is_alive_and_another_start_time_is_another_process() {
        let this = Process::this().unwrap();
        assert!(this.is_alive());
        assert!(!Process { start: this.start + 1, ..this }.is_alive());
    }
}
