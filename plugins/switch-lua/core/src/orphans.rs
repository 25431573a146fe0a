//! Ends the tasks of a step whose slurmstepd died: nobody else does (measured on 22.05 and 26.05).

use std::collections::HashSet;
use std::time::{Duration, Instant};

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

/// The processes of a step, as far as they are known; it grows while they are looked for.
struct Family {
    tasks: Vec<Process>,
    /// All that belonged to it at any time, dead ones too: a child may still name its dead parent's
    /// group.
    members: HashSet<Process>,
    groups: HashSet<i32>,
}

impl Family {
    fn new(tasks: &[Process]) -> Family {
        // slurmstepd makes each task, or the first one, the leader of a process group.
        let groups = tasks.iter().map(|task| task.pid).collect();
        Family { tasks: tasks.to_vec(), members: tasks.iter().copied().collect(), groups }
    }

    /// The living members: the tasks, what descends from members, and what is in a group of theirs.
    fn living(&mut self, all: &[Stat], is_users: impl Fn(i32) -> bool) -> Vec<Process> {
        let alive: Vec<&Stat> = all.iter().filter(|stat| stat.is_alive()).collect();
        // A group whose leader is another process than the task has been made anew by somebody.
        let reused = |group: i32| {
            alive.iter().any(|stat| {
                stat.process.pid == group
                    && self.tasks.iter().any(|task| task.pid == group)
                    && !self.tasks.contains(&stat.process)
            })
        };
        let groups: HashSet<i32> =
            self.groups.iter().copied().filter(|group| !reused(*group)).collect();
        loop {
            let before = self.members.len();
            for stat in &alive {
                let parent = all.iter().find(|other| other.process.pid == stat.parent);
                let related = groups.contains(&stat.group)
                    || parent.is_some_and(|parent| self.members.contains(&parent.process));
                if related && is_users(stat.process.pid) {
                    self.members.insert(stat.process);
                }
            }
            if self.members.len() == before {
                break;
            }
        }
        let found: Vec<&&Stat> = alive
            .iter()
            .filter(|stat| self.members.contains(&stat.process) && is_users(stat.process.pid))
            .collect();
        // A member's own group, if a member leads it, is of the family as well.
        for stat in &found {
            if self.members.iter().any(|member| member.pid == stat.group) {
                self.groups.insert(stat.group);
            }
        }
        found.iter().map(|stat| stat.process).collect()
    }
}

/// Kills what is alive of `tasks` (processes of the user `uid`) and waits until it is gone.
pub fn end(tasks: &[Process], uid: u32) -> Ended {
    let mut ended = Ended::default();
    if tasks.is_empty() {
        return ended;
    }
    let mut family = Family::new(tasks);
    let mut killed: HashSet<Process> = HashSet::new();
    let deadline = Instant::now() + PATIENCE;
    // Two looks in a row without a process: one that was just forking shows in the second.
    let mut empty = 0;
    loop {
        let left = family.living(&process::all(), |pid| process::uid(pid) == Some(uid));
        killed.extend(&left);
        ended.killed = u32::try_from(killed.len()).unwrap_or(u32::MAX);
        ended.left = u32::try_from(left.len()).unwrap_or(u32::MAX);
        empty = if left.is_empty() { empty + 1 } else { 0 };
        if empty == 2 || Instant::now() >= deadline {
            return ended;
        }
        for process in left {
            process.kill(uid);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    fn process(pid: i32) -> Process {
        Process { pid, start: 5 }
    }

    fn stat(pid: i32, parent: i32, group: i32) -> Stat {
        Stat { process: process(pid), comm: "x".into(), state: 'S', parent, group }
    }

    fn living(tasks: &[Process], all: &[Stat], is_users: impl Fn(i32) -> bool) -> Vec<i32> {
        Family::new(tasks).living(all, is_users).iter().map(|p| p.pid).collect()
    }

    #[test]
    fn descendants_and_group_mates_belong_to_a_task_and_a_reused_pid_does_not() {
        let all =
            [stat(10, 1, 10), stat(11, 10, 11), stat(12, 1, 10), stat(20, 1, 20), stat(21, 20, 20)];
        let tasks = [process(10), Process { pid: 20, start: 4 }];
        assert_eq!(living(&tasks, &all, |_| true), [10, 11, 12]);
        assert_eq!(living(&tasks, &all, |pid| pid != 12), [10, 11]);
    }

    #[test]
    fn a_group_outlives_its_leader_and_a_family_its_dead() {
        let tasks = [process(10)];
        assert_eq!(living(&tasks, &[stat(12, 1, 10)], |_| true), [12]);
        let mut family = Family::new(&tasks);
        // A child in a group of its own, whose parent then dies.
        let all = [stat(10, 1, 10), stat(13, 10, 13), stat(14, 13, 13)];
        assert_eq!(family.living(&all, |_| true).len(), 3);
        assert_eq!(family.living(&[stat(14, 1, 13)], |_| true), [process(14)]);
        // Forked by 14 in between, and orphaned at once.
        assert_eq!(family.living(&[stat(15, 1, 13)], |_| true), [process(15)]);
    }

    fn killed(script: &str, children: usize) -> Ended {
        let mut task =
            Command::new("/bin/sh").args(["-c", script]).process_group(0).spawn().unwrap();
        let process = Process::of(task.id().cast_signed()).unwrap();
        // The children need a moment to exist.
        while process::all().iter().filter(|s| s.group == process.pid && s.is_alive()).count()
            < children
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let ended = end(&[process], process::uid(std::process::id().cast_signed()).unwrap());
        task.wait().unwrap();
        ended
    }

    #[test]
    fn a_task_and_its_child_are_killed() {
        assert_eq!(killed("/bin/sleep 600 & wait", 2), Ended { killed: 2, left: 0 });
    }

    #[test]
    fn the_children_of_a_task_that_has_ended_are_killed() {
        let script = "/bin/sleep 600 & /bin/sleep 600 & sleep 0.3; kill -9 $$";
        assert_eq!(killed(script, 2).left, 0);
        // Whether the leader still lived by then or not.
        assert!(killed(script, 2).killed >= 2);
    }

    #[test]
    fn a_process_of_another_user_is_never_killed() {
        let this = Process::this().unwrap();
        assert_eq!(end(&[this], 4_000_000_000), Ended { killed: 0, left: 0 });
        this.kill(4_000_000_000);
        assert!(this.is_alive());
    }
}
