//! The settings of a cluster, and the files written from them.
#![forbid(unsafe_code)]

use std::fs::{self, OpenOptions, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

use crate::cluster::Cluster;
use crate::config::{Account, Settings, slurm_conf};
use crate::error::Error;

const MAX_NODES: usize = 7;

/// The settings of a cluster; made by [`Cluster::builder`].
#[derive(Debug, Clone)]
pub struct Builder {
    pub(crate) nodes: usize,
    cpus: u32,
    debug: String,
    conf: String,
    plugstack: String,
    pub(crate) cgroup: bool,
    pub(crate) slurmd_env: Vec<(String, String)>,
    files: Vec<(String, String)>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            nodes: 1,
            cpus: 4,
            debug: "debug".to_owned(),
            conf: String::new(),
            plugstack: String::new(),
            cgroup: false,
            slurmd_env: Vec::new(),
            files: Vec::new(),
        }
    }
}

impl Builder {
    /// Sets the number of nodes, `node1` to `nodeN`; one unless set.
    #[must_use]
    pub const fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// Sets how many processors each node claims; four unless set.
    #[must_use]
    pub const fn cpus(mut self, count: u32) -> Self {
        self.cpus = count;
        self
    }

    /// Sets the log level of slurmctld, slurmd and slurmstepd; `debug` unless set.
    #[must_use]
    pub fn debug(mut self, level: &str) -> Self {
        level.clone_into(&mut self.debug);
        self
    }

    /// Adds lines to slurm.conf; they replace the defaults for the same keys. `{dir}` stands for
    /// the cluster's directory.
    #[must_use]
    pub fn slurm_conf(mut self, lines: &str) -> Self {
        push_lines(&mut self.conf, lines);
        self
    }

    /// Adds lines to plugstack.conf. `{dir}` stands for the cluster's directory.
    #[must_use]
    pub fn plugstack(mut self, lines: &str) -> Self {
        push_lines(&mut self.plugstack, lines);
        self
    }

    /// Tracks processes with control groups instead of `/proc`. One such cluster runs at a time;
    /// others wait for it.
    #[must_use]
    pub const fn cgroup(mut self, enabled: bool) -> Self {
        self.cgroup = enabled;
        self
    }

    /// Adds a variable to the environment of every slurmd.
    #[must_use]
    pub fn slurmd_env(mut self, key: &str, value: &str) -> Self {
        self.slurmd_env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Adds a file, owned by root with mode 0644, at a path relative to the cluster's directory.
    /// The text is written as it is. `etc/cgroup.conf` replaces the default.
    #[must_use]
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    /// Starts the cluster and waits until every node is idle.
    ///
    /// # Errors
    /// When a package is missing, the caller is not root, or a daemon does not come up; the text
    /// then has the logs.
    pub fn start(self) -> Result<Cluster, Error> {
        if let Some(what) = Cluster::missing() {
            return Err(Error::Missing(what));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Error::NotRoot);
        }
        if !(1..=MAX_NODES).contains(&self.nodes) {
            let what = format!("{} nodes; possible are 1 to {MAX_NODES}", self.nodes);
            return Err(Error::Invalid(what));
        }
        Cluster::start(&self)
    }

    /// Writes everything that the daemons need to find. Whatever root's programs read is root's and
    /// writable by nobody else.
    pub(crate) fn write_files(
        &self,
        dir: &Path,
        job_user: &Account,
        slurm: &Account,
        port: u16,
        nodes: &[(String, u16)],
    ) -> Result<(), Error> {
        make_dir(dir)?;
        for name in ["etc", "state", "spool", "log", "run", "work"] {
            let path = dir.join(name);
            make_dir(&path)?;
        }
        for (node, _) in nodes {
            make_dir(&dir.join("spool").join(node))?;
        }
        give(&dir.join("state"), slurm)?;
        give(&dir.join("work"), job_user)?;
        write(&dir.join("log/slurmctld.log"), b"", 0o644)?;
        give(&dir.join("log/slurmctld.log"), slurm)?;
        let mut key = [0; 128];
        let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        random.map_err(Error::io("could not make a key"))?;
        write(&dir.join("etc/munge.key"), &key, 0o600)?;

        let expand = |text: &str| text.replace("{dir}", &dir.to_string_lossy());
        let host = fs::read_to_string("/proc/sys/kernel/hostname");
        let host = host.map_err(Error::io("could not read the name of this host"))?;
        let conf = slurm_conf(&Settings {
            dir,
            host: host.trim().split('.').next().unwrap_or_default(),
            slurmctld_port: port,
            nodes,
            cpus: self.cpus,
            debug: &self.debug,
            cgroup: self.cgroup,
            extra: &expand(&self.conf),
        });
        write(&dir.join("etc/slurm.conf"), conf.as_bytes(), 0o644)?;
        write(&dir.join("etc/plugstack.conf"), expand(&self.plugstack).as_bytes(), 0o644)?;
        for (path, text) in &self.files {
            let path = dir.join(path);
            if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
                make_dir(parent)?;
            }
            write(&path, text.as_bytes(), 0o644)?;
        }
        Ok(())
    }

    /// From 23.02 on, daemons look for control groups even where no plug-in needs them, and end
    /// when there are none that they know; earlier ones take the word for the name of a plug-in.
    pub(crate) fn write_cgroup_conf(&self, dir: &Path, version: (u32, u32)) -> Result<(), Error> {
        let conf = if self.cgroup {
            crate::cgroup::CONF
        } else if version >= (23, 2) {
            "CgroupPlugin=disabled\n"
        } else {
            return Ok(());
        };
        write(&dir.join("etc/cgroup.conf"), conf.as_bytes(), 0o644)
    }
}

fn push_lines(text: &mut String, lines: &str) {
    text.push_str(lines);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The mode is set apart from creation, so the umask of the test does not matter.
fn make_dir(path: &Path) -> Result<(), Error> {
    let make = fs::create_dir_all(path);
    let make = make.and_then(|()| fs::set_permissions(path, Permissions::from_mode(0o755)));
    make.map_err(Error::io(format!("could not make {}", path.display())))
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let done = options.open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.set_permissions(Permissions::from_mode(mode))
    });
    done.map_err(Error::io(format!("could not write {}", path.display())))
}

fn give(path: &Path, account: &Account) -> Result<(), Error> {
    let done = chown(path, Some(account.uid), Some(account.gid));
    done.map_err(Error::io(format!("could not give {} to {}", path.display(), account.name)))
}
