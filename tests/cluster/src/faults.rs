//! Stops, kills and restarts daemons, and lists the slurmstepds of a cluster.
#![forbid(unsafe_code)]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;

use crate::cluster::{Cluster, GRACE};
use crate::daemons::Name;
use crate::proc;
use crate::query::responds;

const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// A slurmstepd of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepd {
    /// Its process id.
    pub pid: u32,
    /// Its job.
    pub job: u32,
    /// Its step as the process title has it: a number, `batch`, `extern`, `interactive`.
    pub step: String,
    /// The node it belongs to.
    pub node: String,
}

impl Cluster {
    /// Ends slurmctld with SIGTERM, so that it saves its state.
    pub fn stop_slurmctld(&self) {
        self.stop_daemon(&Name::Slurmctld, Signal::TERM);
    }

    /// Ends slurmctld with SIGKILL. What happened in its last seconds is not in its saved state: a
    /// job that started then is aborted and started again.
    pub fn kill_slurmctld(&self) {
        self.stop_daemon(&Name::Slurmctld, Signal::KILL);
    }

    /// Starts slurmctld again and waits until it answers and has heard from every running slurmd.
    /// It asks them about four seconds after its start.
    ///
    /// # Panics
    /// When it runs already, or does not come up.
    pub fn start_slurmctld(&self) {
        self.relaunch(&Name::Slurmctld);
        self.wait_for("an answer of slurmctld", RESTART_LIMIT, || {
            self.slurmctld_listens() && {
                let out = self.root(&["scontrol", "ping"]).output();
                out.code == Some(0) && out.stdout.contains("is UP")
            }
        });
        for node in self.node_names() {
            if self.daemons().is_running(&Name::Slurmd(node.clone())) {
                self.wait_for(&format!("{node} being known"), RESTART_LIMIT, || {
                    responds(&self.node(node).state)
                });
            }
        }
    }

    /// Ends the slurmd of a node with SIGTERM; its steps go on.
    pub fn stop_slurmd(&self, node: &str) {
        self.stop_daemon(&Name::Slurmd(node.to_owned()), Signal::TERM);
    }

    /// Ends the slurmd of a node with SIGKILL; its steps go on.
    pub fn kill_slurmd(&self, node: &str) {
        self.stop_daemon(&Name::Slurmd(node.to_owned()), Signal::KILL);
    }

    /// Starts the slurmd of a node again and waits until it is registered, when slurmctld runs.
    ///
    /// # Panics
    /// When it runs already, or does not come up.
    pub fn start_slurmd(&self, node: &str) {
        let name = Name::Slurmd(node.to_owned());
        let controller = self.daemons().is_running(&Name::Slurmctld);
        let before = controller.then(|| self.slurmd_start_time(node));
        if let Some(before) = &before {
            // The time has seconds only: one restart per second, or the new one can't be told from
            // the old.
            self.wait_for("the next second", GRACE, || now() != *before);
        }
        self.relaunch(&name);
        if let Some(before) = before {
            self.wait_for(&format!("the registration of {node}"), RESTART_LIMIT, || {
                if !self.daemons().is_running(&name) {
                    self.fail(&format!("the {name} has ended"));
                }
                self.slurmd_start_time(node) != before && responds(&self.node(node).state)
            });
        }
    }

    /// The process id of slurmctld, when it runs.
    #[must_use]
    pub fn slurmctld_pid(&self) -> Option<u32> {
        self.running_pid(&Name::Slurmctld)
    }

    /// The process id of the slurmd of a node, when it runs.
    #[must_use]
    pub fn slurmd_pid(&self, node: &str) -> Option<u32> {
        self.running_pid(&Name::Slurmd(node.to_owned()))
    }

    /// The slurmstepds of this cluster, by process id. They are told apart from others' by the log
    /// that they hold open; the short-lived children that become tasks are left out.
    #[must_use]
    pub fn stepds(&self) -> Vec<Stepd> {
        let all: Vec<_> =
            proc::all().into_iter().filter(|process| process.comm == "slurmstepd").collect();
        let own = all.iter().filter(|process| all.iter().all(|other| other.pid != process.parent));
        own.filter_map(|process| self.stepd(process)).collect()
    }

    /// The processes of the job user that belong to this cluster, with their titles.
    #[must_use]
    pub fn processes_of_user(&self) -> Vec<(u32, String)> {
        let (uid, _) = self.job_user();
        let own = self.others().into_iter().filter(|process| process.uid == uid);
        own.map(|process| (process.pid, process.title())).collect()
    }

    fn stepd(&self, process: &proc::Process) -> Option<Stepd> {
        let files = process.files_below(&self.dir().join("log"));
        let node =
            self.node_names().iter().find(|node| files.contains(&self.slurmd_log_path(node)))?;
        // Before the title is set, the step is not known yet.
        let title = process.title();
        let id = title.strip_prefix("slurmstepd: [")?.split(']').next()?;
        let (job, step) = id.split_once('.')?;
        Some(Stepd {
            pid: process.pid,
            job: job.parse().ok()?,
            step: step.to_owned(),
            node: node.clone(),
        })
    }

    fn stop_daemon(&self, name: &Name, signal: Signal) {
        let grace = if signal == Signal::KILL { Duration::ZERO } else { GRACE };
        let mut daemons = self.daemons();
        if signal == Signal::TERM {
            daemons.terminate(name);
        }
        daemons.end(name, grace);
    }

    fn relaunch(&self, name: &Name) {
        if self.daemons().is_running(name) {
            self.fail(&format!("the {name} runs already"));
        }
        if let Err(error) = self.launch(name) {
            self.fail(&format!("{error}: {:?}", std::error::Error::source(&error)));
        }
    }

    fn running_pid(&self, name: &Name) -> Option<u32> {
        let mut daemons = self.daemons();
        if daemons.is_running(name) { daemons.pid(name) } else { None }
    }

    /// When the slurmd that is registered was started, in seconds since the epoch.
    fn slurmd_start_time(&self, node: &str) -> Option<u64> {
        let show = self.root(&["scontrol", "show", "node", node]).env("SLURM_TIME_FORMAT", "%s");
        let text = show.output().stdout;
        let value =
            text.split_whitespace().find_map(|word| word.strip_prefix("SlurmdStartTime="))?;
        value.parse().ok()
    }
}

fn now() -> Option<u64> {
    Some(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs())
}
