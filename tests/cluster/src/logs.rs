//! The logs of a cluster: whole, since a point in time, and their ends for a failed test.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::Cluster;

const TAIL_LINES: usize = 150;

/// How long each log was at one moment.
#[derive(Debug, Clone)]
pub struct Mark {
    sizes: BTreeMap<PathBuf, u64>,
}

/// What was written to the logs since a [`Mark`].
#[derive(Debug, Clone)]
pub struct Logs {
    /// The controller's log.
    pub slurmctld: String,
    nodes: BTreeMap<String, String>,
}

impl Logs {
    /// The log of one node: its slurmd, and the slurmstepds of its steps.
    #[must_use]
    pub fn slurmd(&self, node: &str) -> &str {
        self.nodes.get(node).map_or("", String::as_str)
    }
}

impl Cluster {
    /// The whole log of slurmctld.
    #[must_use]
    pub fn slurmctld_log(&self) -> String {
        read_from(&self.slurmctld_log_path(), 0)
    }

    /// The whole log of a node: its slurmd, and the slurmstepds of its steps.
    #[must_use]
    pub fn slurmd_log(&self, node: &str) -> String {
        read_from(&self.slurmd_log_path(node), 0)
    }

    /// Remembers how long the logs are now, for [`Cluster::since`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        let nodes = self.node_names().iter().map(|node| self.slurmd_log_path(node));
        let paths = nodes.chain([self.slurmctld_log_path()]);
        let sizes = paths.map(|path| {
            let size = fs::metadata(&path).map_or(0, |meta| meta.len());
            (path, size)
        });
        Mark { sizes: sizes.collect() }
    }

    /// What was written to the logs since the mark.
    #[must_use]
    pub fn since(&self, mark: &Mark) -> Logs {
        let read = |path: PathBuf| {
            let from = mark.sizes.get(&path).copied().unwrap_or(0);
            read_from(&path, from)
        };
        let nodes = self.node_names().iter();
        let nodes = nodes.map(|node| (node.clone(), read(self.slurmd_log_path(node)))).collect();
        Logs { slurmctld: read(self.slurmctld_log_path()), nodes }
    }

    pub(crate) fn slurmctld_log_path(&self) -> PathBuf {
        self.dir().join("log/slurmctld.log")
    }

    pub(crate) fn slurmd_log_path(&self, node: &str) -> PathBuf {
        self.dir().join(format!("log/slurmd-{node}.log"))
    }
}

fn read_from(path: &Path, offset: u64) -> String {
    let mut bytes = Vec::new();
    if let Ok(mut file) = fs::File::open(path) {
        // What could be read is what there is to show.
        let _ = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The ends of all logs of the cluster in this directory. The daemons also write to their standard
/// error, `.out` here; of that, only what is not in their log is shown.
pub(crate) fn tails(dir: &Path) -> String {
    let Ok(entries) = fs::read_dir(dir.join("log")) else {
        return String::new();
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut text = String::new();
    for path in paths {
        let content = read_from(&path, 0);
        let logged = fs::metadata(path.with_extension("log")).is_ok_and(|meta| meta.len() > 0);
        let copy = path.extension().is_some_and(|extension| extension == "out") && logged;
        let copied = |line: &&str| {
            copy && ["slurmd: ", "slurmctld: "].iter().any(|start| line.starts_with(start))
        };
        let lines: Vec<&str> = content.lines().filter(|line| !copied(line)).collect();
        if lines.is_empty() {
            continue;
        }
        let tail = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("--- {name}, the last {} of {} lines\n", tail.len(), lines.len()));
        for line in tail {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}
