//! The cgroup variant: its configuration, and what is left of its control groups.
//!
//! Slurm 22.05 names its groups `slurm_NODE` when it is built for several slurmds on a host
//! (`/slurm_%n` in libslurmfull) and takes no other prefix, so only one cluster of this kind runs
//! at a time.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::ports::Lock;

/// No limits are set: nodes claim more processors than the machine has.
pub(crate) const CONF: &str = "CgroupPlugin=cgroup/v1
CgroupMountpoint=/sys/fs/cgroup
CgroupAutomount=no
ConstrainCores=no
ConstrainDevices=no
ConstrainRAMSpace=no
ConstrainSwapSpace=no
";

const ROOT: &str = "/sys/fs/cgroup";

/// Waits until no other cluster uses the names of the groups.
pub(crate) fn lock(timeout: Duration) -> Result<Lock, Error> {
    let start = Instant::now();
    loop {
        if let Some(lock) = Lock::take("cgroup") {
            return Ok(lock);
        }
        if start.elapsed() > timeout {
            let what = "the end of another cluster with control groups".to_owned();
            return Err(Error::NotReady { what, logs: String::new() });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Removes the groups with these names in every hierarchy. A group whose last process just ended
/// can still be busy for a moment, so this is repeated until they are gone or two seconds have
/// passed.
pub(crate) fn remove(names: &[String]) {
    let start = Instant::now();
    loop {
        let left = tops(names);
        if left.is_empty() || start.elapsed() > Duration::from_secs(2) {
            return;
        }
        left.iter().for_each(|top| remove_tree(top));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The groups with these names that exist.
fn tops(names: &[String]) -> Vec<PathBuf> {
    let Ok(hierarchies) = fs::read_dir(ROOT) else {
        return Vec::new();
    };
    let hierarchies: Vec<_> = hierarchies.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let all = hierarchies.iter().flat_map(|top| names.iter().map(|name| top.join(name)));
    all.filter(|path| path.is_dir()).collect()
}

fn remove_tree(group: &Path) {
    if let Ok(entries) = fs::read_dir(group) {
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remove_tree(&entry.path());
            }
        }
    }
    let _ = fs::remove_dir(group);
}
