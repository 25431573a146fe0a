//! Decides whether the way to a script can be trusted: nobody else may replace what is on it.
//!
//! Every directory from the root down, and every symbolic link, is looked at in turn. Since each
//! one that passed can only be changed by those we trust, looking at the next by its path is no
//! race.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use crate::load_error::LoadError;

/// Who may own a script and the directories above it; root always may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trust {
    /// The uids.
    pub owners: Vec<u32>,
}

/// How many links may be on the way to a script, as for the kernel.
pub(crate) const MAX_LINKS: usize = 40;

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

impl Trust {
    /// Whether this user may own a script.
    pub fn allows(&self, uid: u32) -> bool {
        uid == 0 || self.owners.contains(&uid)
    }

    /// Refuses a place that an untrusted user owns or can write to.
    pub(crate) fn check(
        &self,
        script: &Path,
        place: &Path,
        metadata: &Metadata,
    ) -> Result<(), LoadError> {
        self.check_owner(script, place, metadata)?;
        if metadata.mode() & OTHERS_WRITE != 0 {
            return Err(writable(script, place, metadata));
        }
        Ok(())
    }

    fn check_owner(
        &self,
        script: &Path,
        place: &Path,
        metadata: &Metadata,
    ) -> Result<(), LoadError> {
        if self.allows(metadata.uid()) {
            return Ok(());
        }
        let mut allowed = self.owners.clone();
        if !allowed.contains(&0) {
            allowed.insert(0, 0);
        }
        Err(LoadError::Owner {
            path: script.to_owned(),
            place: place.to_owned(),
            uid: metadata.uid(),
            allowed,
        })
    }

    /// Walks to the script and gives its path without links.
    ///
    /// A directory with the sticky bit may be writable by others if the next step in it belongs
    /// to someone trusted and is not the script itself.
    pub(crate) fn walk(&self, script: &Path) -> Result<PathBuf, LoadError> {
        let stat =
            |error: io::Error| LoadError::Stat { path: script.to_owned(), cause: cause(&error) };
        let start = std::path::absolute(script).map_err(stat)?;
        let mut ahead = steps(&start);
        let mut here = PathBuf::from("/");
        let mut links = 0;
        loop {
            let directory = std::fs::symlink_metadata(&here).map_err(stat)?;
            let shared = directory.mode() & STICKY != 0;
            if shared {
                self.check_owner(script, &here, &directory)?;
            } else {
                self.check(script, &here, &directory)?;
            }
            let Some(step) = ahead.pop() else {
                return Err(LoadError::NotAFile { path: script.to_owned(), kind: "directory" });
            };
            if step == ".." {
                here.pop();
                continue;
            }
            let next = here.join(step);
            let metadata = std::fs::symlink_metadata(&next).map_err(stat)?;
            if metadata.is_symlink() {
                self.check_owner(script, &next, &metadata)?;
                links += 1;
                if links > MAX_LINKS {
                    return Err(LoadError::Links { path: script.to_owned() });
                }
                let target = std::fs::read_link(&next).map_err(stat)?;
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                ahead.extend(steps(&target));
            } else if metadata.is_dir() {
                here = next;
            } else if !ahead.is_empty() {
                return Err(stat(io::Error::from(io::ErrorKind::NotADirectory)));
            } else if directory.mode() & OTHERS_WRITE != 0 {
                return Err(writable(script, &here, &directory));
            } else {
                return Ok(next);
            }
        }
    }
}

fn writable(script: &Path, place: &Path, metadata: &Metadata) -> LoadError {
    LoadError::Writable { path: script.to_owned(), place: place.to_owned(), mode: metadata.mode() }
}

/// The names in a path, last first.
fn steps(path: &Path) -> Vec<OsString> {
    let mut steps: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect();
    steps.reverse();
    steps
}

/// The system's reason without the number behind it.
pub(crate) fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_owned(),
        None => text,
    }
}

/// What a file that is not a regular one is.
pub(crate) fn kind(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_dir() {
        "directory"
    } else if kind.is_fifo() {
        "FIFO"
    } else if kind.is_socket() {
        "socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "device"
    } else {
        "special file"
    }
}
