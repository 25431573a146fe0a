//! Asks the controller about nodes and jobs, and waits for them.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;

const POLL: Duration = Duration::from_millis(15);
const FINAL: &[&str] = &[
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PREEMPTED",
    "TIMEOUT",
];
/// States of jobs that have something on a node.
const BUSY: &[&str] = &[
    "COMPLETING",
    "CONFIGURING",
    "REQUEUED",
    "RESIZING",
    "RUNNING",
    "SIGNALING",
    "STOPPED",
    "SUSPENDED",
];
/// Fields that take the rest of their line, spaces and all.
const WHOLE_LINE: &[&str] = &[
    "AdminComment",
    "Command",
    "Comment",
    "Reason",
    "StdErr",
    "StdIn",
    "StdOut",
    "SystemComment",
    "WorkDir",
];

/// A node, as `scontrol show node` prints it.
#[derive(Debug, Clone)]
pub struct Node {
    /// The state, such as `IDLE+DRAIN`.
    pub state: String,
    /// The reason of a drain, without who set it and when; empty when there is none.
    pub reason: String,
    /// Every field.
    pub fields: BTreeMap<String, String>,
}

/// A job, as `scontrol show job` prints it.
#[derive(Debug, Clone)]
pub struct Job {
    /// The job id; each element of an array has its own once it has started.
    pub id: u32,
    /// The state, such as `COMPLETED`.
    pub state: String,
    /// The exit code and signal, such as `0:0`.
    pub exit_code: String,
    /// The reason, `None` when there is none.
    pub reason: String,
    /// How often the job was requeued.
    pub restarts: u32,
    /// Every field.
    pub fields: BTreeMap<String, String>,
}

impl Job {
    fn new(fields: BTreeMap<String, String>) -> Self {
        let text = |key: &str| fields.get(key).cloned().unwrap_or_default();
        let number = |key: &str| text(key).parse().unwrap_or(0);
        Self {
            id: number("JobId"),
            state: text("JobState"),
            exit_code: text("ExitCode"),
            reason: text("Reason"),
            restarts: number("Restarts"),
            fields,
        }
    }

    /// Whether the job is over; a job that is completing is not.
    #[must_use]
    pub fn is_final(&self) -> bool {
        FINAL.contains(&self.state.as_str())
    }
}

impl Cluster {
    /// Submits a batch script as the job user and returns the job's id.
    ///
    /// # Panics
    /// When sbatch refuses it.
    #[must_use]
    pub fn sbatch(&self, script: &str, options: &[&str]) -> u32 {
        let args = [&["sbatch", "--parsable"], options].concat();
        let out = self.user(&args).stdin(script).output();
        match out.stdout.trim().parse() {
            Ok(id) if out.code == Some(0) => id,
            _ => self.fail(&format!("sbatch: {out:?}")),
        }
    }

    /// Asks about a node.
    ///
    /// # Panics
    /// When the controller does not answer or has no such node.
    #[must_use]
    pub fn node(&self, name: &str) -> Node {
        let out = self.root(&["scontrol", "show", "node", name]).output();
        let Some(fields) = records(&out.stdout).into_iter().next().filter(|_| out.code == Some(0))
        else {
            self.fail(&format!("scontrol show node {name}: {out:?}"))
        };
        let text = |key: &str| fields.get(key).cloned().unwrap_or_default();
        let reason = text("Reason");
        let reason =
            reason.rsplit_once(" [").map_or(reason.as_str(), |(reason, _)| reason).to_owned();
        Node { state: text("State"), reason, fields }
    }

    /// Asks about a job, or the first of an array.
    ///
    /// # Panics
    /// When the controller does not answer or does not know the job.
    #[must_use]
    pub fn job(&self, id: u32) -> Job {
        match self.jobs(id).into_iter().next() {
            Some(job) => job,
            None => self.fail(&format!("no job {id}")),
        }
    }

    /// Asks about a job: one entry, or more for an array or a heterogeneous job; none when it is
    /// unknown.
    ///
    /// # Panics
    /// When the controller does not answer.
    #[must_use]
    pub fn jobs(&self, id: u32) -> Vec<Job> {
        let out = self.root(&["scontrol", "show", "job", &id.to_string()]).output();
        if out.code != Some(0) && !out.stderr.contains("Invalid job id") {
            self.fail(&format!("scontrol show job {id}: {out:?}"));
        }
        records(&out.stdout).into_iter().map(Job::new).collect()
    }

    /// Waits until a job, with all its elements, is over and cleaned up on its nodes; returns the
    /// first of them.
    ///
    /// # Panics
    /// After the time limit.
    pub fn wait_job(&self, id: u32, timeout: Duration) -> Job {
        let mut jobs = Vec::new();
        self.wait_for(&format!("the end of job {id}"), timeout, || {
            jobs = self.jobs(id);
            !jobs.is_empty() && jobs.iter().all(Job::is_final)
        });
        match jobs.into_iter().next() {
            Some(job) => job,
            None => self.fail(&format!("no job {id}")),
        }
    }

    /// Waits until no job runs or completes anywhere. Pending and held jobs don't count.
    ///
    /// # Panics
    /// After the time limit.
    pub fn wait_idle(&self, timeout: Duration) {
        self.wait_for("the end of all jobs", timeout, || {
            let jobs = self.root(&["squeue", "-h", "-o", "%T"]).output();
            let nodes = self.root(&["sinfo", "-h", "-N", "-o", "%T"]).output();
            let busy = ["alloc", "mix", "comp", "draining"];
            jobs.code == Some(0)
                && nodes.code == Some(0)
                && !jobs.stdout.lines().any(|state| BUSY.contains(&state))
                && !nodes
                    .stdout
                    .lines()
                    .any(|state| busy.iter().any(|part| state.starts_with(part)))
        });
    }

    /// Waits until the condition holds, asking every few milliseconds.
    ///
    /// # Panics
    /// After the time limit, with the queue and the logs in the text.
    pub fn wait_for(&self, what: &str, timeout: Duration, mut condition: impl FnMut() -> bool) {
        let start = Instant::now();
        while !condition() {
            if start.elapsed() > timeout {
                let ask = |args: &[&str]| {
                    let out = self.root(args).timeout(Duration::from_secs(5)).output();
                    format!("{}{}", out.stdout, out.stderr)
                };
                let (jobs, nodes) = (ask(&["squeue"]), ask(&["sinfo", "-N", "-l"]));
                self.fail(&format!("waited {timeout:?} in vain for {what}\n{jobs}{nodes}"));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends the drain of a node and waits until it can be used.
    ///
    /// # Panics
    /// When the controller refuses, or the node does not come back.
    pub fn resume(&self, node: &str) {
        let out = self.root(&["scontrol", "update", &format!("nodename={node}"), "state=resume"]);
        let out = out.output();
        if out.code != Some(0) {
            self.fail(&format!("resume of {node}: {out:?}"));
        }
        let what = format!("the return of {node}");
        self.wait_for(&what, Duration::from_secs(10), || {
            let state = self.node(node).state;
            responds(&state) && !state.contains("DRAIN") && !state.contains("DOWN")
        });
    }
}

/// Whether the controller has heard from a node in this state.
pub(crate) fn responds(state: &str) -> bool {
    !["*", "NOT_RESPONDING", "UNKNOWN"].iter().any(|part| state.contains(part))
}

/// Splits what scontrol prints. A field begins with an upper-case word and `=`; anything else
/// continues the field before it. An empty line ends a record; 24.11 has lines of spaces in one.
fn records(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = vec![BTreeMap::new()];
    for line in text.lines() {
        if line.is_empty() {
            records.push(BTreeMap::new());
        } else if let Some(record) = records.last_mut() {
            parse_line(line.trim(), record);
        }
    }
    records.retain(|record| record.contains_key("JobId") || record.contains_key("NodeName"));
    records
}

fn parse_line(line: &str, record: &mut BTreeMap<String, String>) {
    if let Some((key, value)) = line.split_once('=').filter(|(key, _)| WHOLE_LINE.contains(key)) {
        record.insert(key.to_owned(), value.to_owned());
        return;
    }
    let mut current: Option<String> = None;
    for word in line.split(' ') {
        let is_key = |key: &str| {
            key.starts_with(|first: char| first.is_ascii_uppercase())
                && key.chars().all(|c| c.is_ascii_alphanumeric() || ":/_".contains(c))
        };
        if let Some((key, value)) = word.split_once('=').filter(|(key, _)| is_key(key)) {
            record.insert(key.to_owned(), value.to_owned());
            current = Some(key.to_owned());
        } else if let Some(value) = current.as_ref().and_then(|key| record.get_mut(key)) {
            value.push(' ');
            value.push_str(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_spaces_and_records_are_split() {
        let text = "JobId=1 JobName=a b\n   JobState=RUNNING Reason=None Dependency=(null)\n   \
                ReqB:S:C:T=0:0:*:* CPUs/Task=1\n   Command=/x A=1 b=2\n   \n   \
                StdIn=/a b\n\nJobId=2 JobName=c\n";
        let all = records(text);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0]["JobName"], "a b");
        assert_eq!(all[0]["Reason"], "None");
        assert_eq!(all[0]["ReqB:S:C:T"], "0:0:*:*");
        assert_eq!(all[0]["Command"], "/x A=1 b=2");
        assert_eq!(all[0]["StdIn"], "/a b");
        assert_eq!(Job::new(all[1].clone()).id, 2);
    }
}
