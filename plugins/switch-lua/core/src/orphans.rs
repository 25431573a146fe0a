//! Ends the tasks of a step whose slurmstepd died: nobody else does (measured on 22.05 and 26.05).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{self, Process, Stat};

/// How long killed processes get to disappear.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of the tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// How many processes were alive and were killed.
    pub killed: u32,
    /// How many are still there.
    pub left: u32,
}

/// The processes of these tasks that are alive: the tasks, what descends from them, and what shares
/// a process group with one of them. `uid` guards against a group id that was reused.
fn family(tasks: &[Process], all: &[Stat], is_users: impl Fn(i32) -> bool) -> Vec<Process> {
    let alive: Vec<&Stat> = all.iter().filter(|stat| stat.is_alive()).collect();
    let mut members: HashSet<i32> = alive
        .iter()
        .filter(|stat| tasks.contains(&stat.process))
        .map(|stat| stat.process.pid)
        .collect();
    let groups: HashSet<i32> = alive
        .iter()
        .filter(|stat| members.contains(&stat.process.pid))
        .map(|stat| stat.group)
        .filter(|group| tasks.iter().any(|task| task.pid == *group))
        .collect();
    loop {
        let before = members.len();
        for stat in &alive {
            let related = members.contains(&stat.parent) || groups.contains(&stat.group);
            if related && is_users(stat.process.pid) {
                members.insert(stat.process.pid);
            }
        }
        if members.len() == before {
            break;
        }
    }
    alive
        .iter()
        .filter(|s| members.contains(&s.process.pid))
        .map(|s| s.process)
        .collect()
}

fn owner(pid: i32) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(format!("/proc/{pid}"))
        .ok()
        .map(|meta| meta.uid())
}

/// Kills what is alive of `tasks` (processes of the user `uid`) and waits until it is gone.
pub fn end(tasks: &[Process], uid: u32) -> Ended {
    let mut ended = Ended::default();
    if tasks.is_empty() {
        return ended;
    }
    let mut killed: HashSet<Process> = HashSet::new();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = family(tasks, &process::all(), |pid| owner(pid) == Some(uid));
        ended.left = u32::try_from(left.len()).unwrap_or(u32::MAX);
        ended.killed = u32::try_from(killed.union(&left.iter().copied().collect()).count())
            .unwrap_or(u32::MAX);
        if left.is_empty() || Instant::now() >= deadline {
            return ended;
        }
        for process in left {
            killed.insert(process);
            // A pid that ended in between was checked just before; an error means it is gone.
            if let Some(pid) = Pid::from_raw(process.pid) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    fn stat(pid: i32, parent: i32, group: i32) -> Stat {
        Stat {
            process: Process { pid, start: 5 },
            comm: "x".into(),
            state: 'S',
            parent,
            group,
        }
    }

    #[test]
    fn descendants_and_group_mates_belong_to_a_task_and_a_reused_pid_does_not() {
        let all = [
            stat(10, 1, 10),
            stat(11, 10, 11),
            stat(12, 1, 10),
            stat(20, 1, 20),
            stat(21, 20, 20),
        ];
        let tasks = [Process { pid: 10, start: 5 }, Process { pid: 20, start: 4 }];
        let pids: Vec<i32> = family(&tasks, &all, |_| true)
            .iter()
            .map(|p| p.pid)
            .collect();
        assert_eq!(pids, [10, 11, 12]);
        let pids: Vec<i32> = family(&tasks, &all, |pid| pid != 12)
            .iter()
            .map(|p| p.pid)
            .collect();
        assert_eq!(pids, [10, 11]);
    }

    #[test]
    fn a_task_and_its_child_are_killed() {
        let mut task = Command::new("/bin/sh")
            .args(["-c", "/bin/sleep 600 & wait"])
            .process_group(0)
            .spawn()
            .unwrap();
        let process = Process::of(task.id().cast_signed()).unwrap();
        // The child needs a moment to exist.
        while !process::all().iter().any(|s| s.parent == process.pid) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let uid = owner(process.pid).unwrap();
        let ended = end(&[process], uid);
        task.wait().unwrap();
        assert_eq!(ended, Ended { killed: 2, left: 0 });
    }
}
