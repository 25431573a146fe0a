//! A running cluster: how it starts, how it ends, and how commands reach it.
#![forbid(unsafe_code)]

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::builder::Builder;
use crate::config::{self, Account, PATH};
use crate::daemons::{Daemons, Name};
use crate::error::Error;
use crate::guard::Guard;
use crate::ports::{Lock, Ports};
use crate::run::Run;
use crate::{cgroup, logs, proc};

const START_LIMIT: Duration = Duration::from_secs(30);
const CGROUP_LIMIT: Duration = Duration::from_secs(300);
/// How long a daemon may take to end by itself.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
/// When a stop asks steps and jobs to end, and when it kills them.
const ASK_AFTER: Duration = Duration::from_millis(500);
const KILL_AFTER: Duration = Duration::from_millis(1500);

/// A private Slurm cluster. Dropping it ends all its processes and removes its directory.
pub struct Cluster {
    version: (u32, u32),
    nodes: Vec<String>,
    ports: Ports,
    slurmd_env: Vec<(String, String)>,
    slurm: Account,
    job_user: Account,
    daemons: Mutex<Daemons>,
    start_times: Vec<(&'static str, Duration)>,
    cgroups: Vec<String>,
    logs_shown: AtomicBool,
    keep: bool,
    guard: Option<Guard>,
    dir: Option<TempDir>,
    path: PathBuf,
    _cgroup_lock: Option<Lock>,
}

impl Cluster {
    /// Begins the settings of a cluster.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Says which package is missing, if one is.
    #[must_use]
    pub fn missing() -> Option<String> {
        config::missing()
    }

    pub(crate) fn start(builder: &Builder) -> Result<Self, Error> {
        let cgroup_lock = if builder.cgroup { Some(cgroup::lock(CGROUP_LIMIT)?) } else { None };
        let begin = Instant::now();
        let version = config::version()?;
        let ports = Ports::find()?;
        let slurm = Account::find(config::SLURM_USER)?;
        let job_user = Account::find(config::JOB_USER)?;
        let nodes: Vec<String> =
            (1..=builder.nodes).map(|number| format!("node{number}")).collect();
        let mut temp = tempfile::Builder::new();
        let temp =
            temp.prefix("slurm-").permissions(Permissions::from_mode(0o755)).tempdir_in("/tmp");
        let mut dir = temp.map_err(Error::io("could not make a directory in /tmp"))?;
        let keep = std::env::var_os("SPANK_KEEP").is_some();
        dir.disable_cleanup(keep);
        let path = dir.path().to_path_buf();
        let addresses: Vec<_> = nodes.iter().cloned().zip((0..).map(|i| ports.slurmd(i))).collect();
        builder.write_files(&path, &job_user, &slurm, ports.slurmctld(), &addresses)?;
        builder.write_cgroup_conf(&path, version)?;

        let groups = nodes.iter().map(|node| format!("slurm_{node}"));
        let cgroups: Vec<_> = if builder.cgroup { groups.collect() } else { Vec::new() };
        let guard = Guard::start(&path, keep, job_user.uid, &cgroups);
        let mut cluster = Self {
            version,
            nodes,
            ports,
            slurmd_env: builder.slurmd_env.clone(),
            slurm,
            job_user,
            daemons: Mutex::new(Daemons::new().map_err(Error::io("could not start a thread"))?),
            start_times: vec![("files", begin.elapsed())],
            cgroups,
            logs_shown: AtomicBool::new(false),
            keep,
            guard: Some(guard.map_err(Error::io("could not start the guard"))?),
            dir: Some(dir),
            path,
            _cgroup_lock: cgroup_lock,
        };
        cluster.start_daemons()?;
        Ok(cluster)
    }

    fn start_daemons(&mut self) -> Result<(), Error> {
        let mut last = Instant::now();
        let mut times = Vec::new();
        let mut lap = |name| {
            times.push((name, last.elapsed()));
            last = Instant::now();
        };
        self.launch(&Name::Munged)?;
        self.await_ready("an answer of munged", &[Name::Munged], || self.munge_answers())?;
        lap("munged");
        self.launch(&Name::Slurmctld)?;
        self.await_ready("slurmctld's port", &[Name::Slurmctld], || self.slurmctld_listens())?;
        lap("slurmctld");
        let slurmds: Vec<Name> = self.nodes.iter().cloned().map(Name::Slurmd).collect();
        for name in &slurmds {
            self.launch(name)?;
        }
        let mut all = slurmds;
        all.push(Name::Slurmctld);
        self.await_ready("every node being idle", &all, || {
            let out = self.root(&["sinfo", "-h", "-N", "-o", "%T"]).output();
            out.stdout.lines().filter(|state| *state == "idle").count() == self.nodes.len()
        })?;
        lap("nodes");
        self.start_times.append(&mut times);
        Ok(())
    }

    /// Polls until the condition holds; fails early when one of the daemons has ended.
    fn await_ready(
        &self,
        what: &str,
        daemons: &[Name],
        ready: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let start = Instant::now();
        while !ready() {
            let ended = daemons.iter().find(|name| !self.daemons().is_running(name));
            if ended.is_some() || start.elapsed() > START_LIMIT {
                let what = match ended {
                    Some(name) => format!("{what} ({name} has ended)"),
                    None => what.to_owned(),
                };
                self.logs_shown.store(true, Ordering::Relaxed);
                return Err(Error::NotReady { what, logs: logs::tails(&self.path) });
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    fn munge_answers(&self) -> bool {
        let socket = self.path.join("run/munge.socket");
        socket.exists() && {
            let socket = socket.to_string_lossy();
            self.root(&["munge", "-n", "-S", &socket]).output().code == Some(0)
        }
    }

    pub(crate) fn slurmctld_listens(&self) -> bool {
        self.ports.slurmctld_listens()
    }

    /// Starts one daemon, without waiting for it to be ready.
    pub(crate) fn launch(&self, name: &Name) -> Result<(), Error> {
        let dir = self.path.display();
        let conf = self.conf();
        let mut command;
        let log;
        match name {
            Name::Munged => {
                command = Command::new("munged");
                command.args(["--foreground", "--force", "--num-threads=2"]);
                command.arg(format!("--socket={dir}/run/munge.socket"));
                command.arg(format!("--key-file={dir}/etc/munge.key"));
                command.arg(format!("--pid-file={dir}/run/munged.pid"));
                command.arg(format!("--seed-file={dir}/run/munged.seed"));
                log = "munged.out".to_owned();
            }
            Name::Slurmctld => {
                command = Command::new("slurmctld");
                command.arg("-D").arg("-f").arg(&conf).uid(self.slurm.uid).gid(self.slurm.gid);
                log = "slurmctld.out".to_owned();
            }
            Name::Slurmd(node) => {
                command = Command::new("slurmd");
                command.args(["-D", "-N", node, "-f"]).arg(&conf);
                log = format!("slurmd-{node}.out");
            }
        }
        command.env_clear().env("PATH", PATH).env("LANG", "C.UTF-8").env("SLURM_CONF", &conf);
        if matches!(name, Name::Slurmd(_)) {
            command.envs(self.slurmd_env.iter().map(|(key, value)| (key, value)));
        }
        let failed = format!("could not start the {name}");
        let log =
            OpenOptions::new().create(true).append(true).open(self.path.join("log").join(log));
        let log = log.and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = log.map_err(Error::io(failed.clone()))?;
        command.current_dir("/").stdin(Stdio::null()).stdout(out).stderr(err);
        self.daemons().start(name.clone(), command).map_err(Error::io(failed))
    }

    pub(crate) fn daemons(&self) -> MutexGuard<'_, Daemons> {
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cluster's directory: `etc` (root's), `work` (the job user's), `log`, `spool`, `state`,
    /// `run`.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.path
    }

    /// The working directory of the job user.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// The path of slurm.conf, for `SLURM_CONF`.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.path.join("etc/slurm.conf")
    }

    /// The release of Slurm, year and month: (22, 5) is 22.05.
    #[must_use]
    pub const fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The names of the nodes.
    #[must_use]
    pub fn node_names(&self) -> &[String] {
        &self.nodes
    }

    /// The user and group id that jobs run with.
    #[must_use]
    pub const fn job_user(&self) -> (u32, u32) {
        (self.job_user.uid, self.job_user.gid)
    }

    /// How long the parts of the start took.
    #[must_use]
    pub fn start_times(&self) -> &[(&'static str, Duration)] {
        &self.start_times
    }

    /// A command run as the job user.
    #[must_use]
    pub fn user(&self, args: &[&str]) -> Run {
        let Account { name, uid, gid } = &self.job_user;
        self.run(args, name, &self.work()).identity(*uid, *gid)
    }

    /// A command run as root.
    #[must_use]
    pub fn root(&self, args: &[&str]) -> Run {
        self.run(args, "root", Path::new("/root"))
    }

    fn run(&self, args: &[&str], name: &str, home: &Path) -> Run {
        let run = Run::new(args).cwd(self.work()).env("PATH", PATH).env("LANG", "C.UTF-8");
        let run = run.env("HOME", home).env("USER", name).env("LOGNAME", name);
        run.env("SHELL", "/bin/sh").env("SLURM_CONF", self.conf())
    }

    /// Ends the cluster; the same as dropping it.
    pub fn stop(self) {
        drop(self);
    }

    /// Fails the test with this text and the logs.
    pub(crate) fn fail(&self, text: &str) -> ! {
        self.logs_shown.store(true, Ordering::Relaxed);
        panic!("{text}\n{}", logs::tails(&self.path));
    }

    /// The processes of the cluster that are not daemons started by it: slurmstepds, jobs, running
    /// commands.
    pub(crate) fn others(&self) -> Vec<proc::Process> {
        let daemons = self.daemons().pids();
        let mut all = proc::of_cluster(&self.path, self.job_user.uid);
        all.retain(|process| !daemons.contains(&process.pid));
        all
    }

    /// Ends everything: the Slurm daemons first, which then can't start anything more, and munged
    /// last.
    ///
    /// A slurmd that waits for the end of a job ends late, so the rest is asked to end after a
    /// while even if it runs.
    fn end_processes(&self) {
        let names = self.daemons().names();
        let slurm: Vec<_> = names.iter().filter(|name| **name != Name::Munged).collect();
        slurm.iter().for_each(|name| self.daemons().terminate(name));
        let start = Instant::now();
        let mut asked = false;
        while start.elapsed() < GRACE {
            let running = slurm.iter().any(|name| self.daemons().is_running(name));
            let left = self.others();
            if left.is_empty() && !running {
                break;
            }
            if start.elapsed() > KILL_AFTER {
                slurm.iter().for_each(|name| self.daemons().end(name, Duration::ZERO));
                left.iter().for_each(|process| proc::signal(process.pid, Signal::KILL));
            } else if !asked && (!running || start.elapsed() > ASK_AFTER) {
                left.iter().for_each(|process| proc::signal(process.pid, Signal::TERM));
                asked = true;
            }
            std::thread::sleep(POLL);
        }
        slurm.iter().for_each(|name| self.daemons().end(name, Duration::ZERO));
        self.daemons().terminate(&Name::Munged);
        self.daemons().end(&Name::Munged, GRACE);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.logs_shown.load(Ordering::Relaxed) {
            eprintln!("{}", logs::tails(&self.path));
        }
        self.end_processes();
        cgroup::remove(&self.cgroups);
        if let Some(dir) = self.dir.take() {
            if self.keep {
                eprintln!("kept {}", self.path.display());
            } else if let Err(error) = dir.close() {
                eprintln!("could not remove {}: {error}", self.path.display());
            }
        }
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").field("dir", &self.path).field("nodes", &self.nodes).finish()
    }
}
