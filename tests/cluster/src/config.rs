//! The text of slurm.conf, and the programs and accounts that a cluster needs.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// Where programs are looked for, by this crate and by everything it starts.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The account that slurmctld runs as.
pub(crate) const SLURM_USER: &str = "slurm";
/// The account that jobs run as.
pub(crate) const JOB_USER: &str = "nobody";

/// The memory that a node claims, in MiB; without it, no job could ask for any.
const MEMORY: u32 = 4000;

/// Programs, and the Debian packages that bring them.
const PROGRAMS: &[(&str, &str)] = &[
    ("munged", "munge"),
    ("munge", "munge"),
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("slurmstepd", "slurmd"),
    ("srun", "slurm-client"),
    ("scontrol", "slurm-client"),
];

/// Returns where a program is.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    PATH.split(':').map(|dir| Path::new(dir).join(name)).find(|path| path.is_file())
}

/// Says which package is missing.
pub(crate) fn missing() -> Option<String> {
    for (name, package) in PROGRAMS {
        if program(name).is_none() {
            return Some(format!("the program {name} is missing; install the package {package}"));
        }
    }
    if Account::find(SLURM_USER).is_err() {
        return Some(format!(
            "the account {SLURM_USER} is missing; the package slurmctld brings it"
        ));
    }
    Account::find(JOB_USER).err().map(|error| error.to_string())
}

/// The installed release of Slurm, such as (22, 5).
pub(crate) fn version() -> Result<(u32, u32), Error> {
    let output = Command::new("slurmd").env("PATH", PATH).arg("-V").output();
    let output = output.map_err(Error::io("could not run slurmd -V"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse_version(&text).ok_or_else(|| Error::Invalid(format!("slurmd -V says {text:?}")))
}

/// Reads `slurm-wlm 22.05.8`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().last()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// An account of this machine.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Account {
    /// Asks the system's user database.
    pub(crate) fn find(name: &str) -> Result<Self, Error> {
        let unknown = || Error::Missing(format!("the account {name} is missing"));
        let mut command = Command::new("getent");
        let output = command.env("PATH", PATH).args(["passwd", name]).output();
        let output = output.map_err(Error::io("could not run getent"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut fields = text.trim_end().split(':').skip(2);
        let mut number = || fields.next()?.parse().ok();
        let (Some(uid), Some(gid)) = (number(), number()) else {
            return Err(unknown());
        };
        Ok(Self { name: name.to_owned(), uid, gid })
    }
}

/// What slurm.conf depends on.
pub(crate) struct Settings<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) host: &'a str,
    pub(crate) slurmctld_port: u16,
    /// Name and port.
    pub(crate) nodes: &'a [(String, u16)],
    pub(crate) cpus: u32,
    pub(crate) debug: &'a str,
    pub(crate) cgroup: bool,
    pub(crate) extra: &'a str,
}

/// Returns the text of slurm.conf. A setting that the extra lines make replaces the default, since
/// Slurm's commands print an error for a key that is there twice.
pub(crate) fn slurm_conf(settings: &Settings<'_>) -> String {
    let extra_keys: Vec<String> = settings.extra.lines().filter_map(key).collect();
    let mut text = String::new();
    for line in defaults(settings).lines() {
        if key(line).is_none_or(|key| !extra_keys.contains(&key)) {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (name, port) in settings.nodes {
        let (host, cpus) = (settings.host, settings.cpus);
        text.push_str(&format!(
            "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} \
             RealMemory={MEMORY} State=UNKNOWN\n"
        ));
    }
    text.push_str(settings.extra);
    text.push('\n');
    text
}

/// The key of a line, in lower case.
fn key(line: &str) -> Option<String> {
    let line = line.trim_start();
    let (key, _) = line.split_once('=')?;
    (!line.starts_with('#')).then(|| key.trim_end().to_ascii_lowercase())
}

/// `ReturnToService=2` brings back nodes that were down; a drain, by a test or by Slurm, stays.
fn defaults(settings: &Settings<'_>) -> String {
    let Settings { host, debug, slurmctld_port, .. } = settings;
    let dir = settings.dir.display();
    let (proctrack, task) = if settings.cgroup {
        ("proctrack/cgroup", "task/cgroup")
    } else {
        ("proctrack/linuxproc", "task/none")
    };
    format!(
        "ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={slurmctld_port}
SlurmUser={SLURM_USER}
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={dir}/run/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool/%n
SlurmctldPidFile={dir}/state/slurmctld.pid
SlurmdPidFile={dir}/run/slurmd-%n.pid
SlurmctldLogFile={dir}/log/slurmctld.log
SlurmdLogFile={dir}/log/slurmd-%n.log
PlugStackConfig={dir}/etc/plugstack.conf
SlurmctldDebug={debug}
SlurmdDebug={debug}
ProctrackType={proctrack}
TaskPlugin={task}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=2,bf_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
MpiDefault=none
JobRequeue=1
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=60
InactiveLimit=0
KillWait=5
MinJobAge=300
MessageTimeout=10
UnkillableStepTimeout=60
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_from_what_slurmd_says() {
        assert_eq!(parse_version("slurm-wlm 22.05.8\n"), Some((22, 5)));
        assert_eq!(parse_version("slurm 26.05.0-0rc1\n"), Some((26, 5)));
        assert_eq!(parse_version("slurm\n"), None);
    }

    #[test]
    fn an_extra_line_replaces_the_default() {
        let settings = Settings {
            dir: Path::new("/d"),
            host: "h",
            slurmctld_port: 7,
            nodes: &[("node1".to_owned(), 8)],
            cpus: 4,
            debug: "debug",
            cgroup: false,
            extra: "killwait = 1\n# JobRequeue=0",
        };
        let text = slurm_conf(&settings);
        assert!(!text.contains("KillWait=5") && text.contains("killwait = 1"), "{text}");
        assert!(text.contains("JobRequeue=1") && text.contains("Port=8 CPUs=4"), "{text}");
    }
}
