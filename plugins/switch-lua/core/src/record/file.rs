//! Files and folders of the record: opened without following links, checked, written whole.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, fsync, mkdirat, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Problem;

/// The largest record that is read.
const LARGEST: u64 = 1 << 20;

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

fn problem(path: &Path, why: impl std::fmt::Display) -> Problem {
    Problem(format!("{}: {why}", path.display()))
}

/// Opens the folder of the records; `None` if it does not exist.
pub fn open_top(path: &Path) -> Result<Option<OwnedFd>, Problem> {
    opened(openat(CWD, path, FOLDER, Mode::empty()), path)
}

/// Opens the folder of the records, and makes it if it does not exist.
pub fn ensure_top(path: &Path) -> Result<OwnedFd, Problem> {
    match mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) => {}
        Err(Errno::EXIST) => {}
        Err(Errno::NOENT) => {
            let why = "the folder above it does not exist: make it, or set state_dir= to another";
            return Err(problem(path, why));
        }
        // Also what a read-only file system says of a folder that does exist.
        Err(error) if !path.is_dir() => {
            return Err(problem(path, format_args!("cannot be made: {error}; see state_dir=")));
        }
        Err(_) => {}
    }
    open_top(path)?.ok_or_else(|| problem(path, "removed by somebody"))
}

/// Opens a folder below another one; `None` if it does not exist.
pub fn open_dir(at: &OwnedFd, name: &str, path: &Path) -> Result<Option<OwnedFd>, Problem> {
    opened(openat(at, name, FOLDER, Mode::empty()), path)
}

fn opened(answer: Result<OwnedFd, Errno>, path: &Path) -> Result<Option<OwnedFd>, Problem> {
    let dir = match answer {
        Ok(dir) => dir,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return Err(problem(path, "a link or a file where a folder has to be: remove it"));
        }
        Err(error) => return Err(problem(path, error)),
    };
    let stat = fstat(&dir).map_err(|e| problem(path, e))?;
    let us = rustix::process::geteuid().as_raw();
    if stat.st_uid != us {
        let why = format!("owned by uid {}, not by uid {us}: remove it or chown it", stat.st_uid);
        return Err(problem(path, why));
    }
    if stat.st_mode & 0o077 != 0 {
        let why = format!("mode {:o} lets others in: chmod 700", stat.st_mode & 0o7777);
        return Err(problem(path, why));
    }
    Ok(Some(dir))
}

/// Makes a folder below another one; one that exists is fine.
pub fn make_dir(at: &OwnedFd, name: &str, path: &Path) -> Result<(), Problem> {
    match mkdirat(at, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(problem(path, format_args!("cannot be made: {error}; see state_dir="))),
    }
}

/// Reads a record; `None` if there is none.
pub fn read<T: DeserializeOwned>(
    at: &OwnedFd,
    name: &str,
    path: &Path,
    newest: u32,
) -> Result<Option<T>, Problem> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = match openat(at, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(problem(path, "a link, so not ours: remove it")),
        Err(error) => return Err(problem(path, error)),
    };
    let stat = fstat(&fd).map_err(|e| problem(path, e))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || stat.st_uid != rustix::process::geteuid().as_raw()
    {
        return Err(problem(path, "not a file of ours: remove it"));
    }
    let mut text = Vec::new();
    std::fs::File::from(fd).take(LARGEST).read_to_end(&mut text).map_err(|e| problem(path, e))?;
    let torn = |e: serde_json::Error| {
        problem(path, format_args!("torn or foreign ({e}): not used; it can be removed"))
    };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(torn)?;
    let format = value.get("format").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if format > u64::from(newest) {
        let why = format!(
            "written by a later version (format {format}, this one reads up to {newest}): not used"
        );
        return Err(problem(path, why));
    }
    serde_json::from_value(value).map(Some).map_err(torn)
}

/// How much a record is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Worth {
    /// It has to survive a crash of the machine.
    Kept,
    /// It only saves work, and may be lost.
    Note,
}

/// Writes a record whole: a file of its own, synced if it is to be kept, then put in place.
pub fn write<T: Serialize>(
    at: &OwnedFd,
    name: &str,
    path: &Path,
    value: &T,
    worth: Worth,
) -> Result<(), Problem> {
    let text = serde_json::to_vec(value).map_err(|e| problem(path, e))?;
    let new = format!(".new-{}-{name}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |error: std::io::Error| {
        unlink(at, &new);
        problem(path, format_args!("cannot be written: {error}; see state_dir="))
    };
    // A file of a process that died in here and whose pid we have now.
    unlink(at, &new);
    let fd =
        openat(at, new.as_str(), flags, Mode::RUSR | Mode::WUSR).map_err(|e| failed(e.into()))?;
    let mut file = std::fs::File::from(fd);
    file.write_all(&text).map_err(failed)?;
    // Slurm has set the user's umask in the later hooks.
    fchmod(&file, Mode::RUSR | Mode::WUSR).map_err(|e| failed(e.into()))?;
    if worth == Worth::Kept {
        file.sync_all().map_err(failed)?;
    }
    renameat(at, new.as_str(), at, name).map_err(|e| failed(e.into()))?;
    if worth == Worth::Kept {
        // A folder that cannot be synced still has the file.
        let _ = fsync(at);
    }
    Ok(())
}

/// Appends a line to a file.
pub fn append(at: &OwnedFd, name: &str, path: &Path, line: &str) -> Result<(), Problem> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let failed = |error: std::io::Error| problem(path, format_args!("cannot be written: {error}"));
    let fd = openat(at, name, flags, Mode::RUSR | Mode::WUSR).map_err(|e| failed(e.into()))?;
    std::fs::File::from(fd).write_all(line.as_bytes()).map_err(failed)
}

/// The whole text of a file; empty if there is none.
pub fn text(at: &OwnedFd, name: &str) -> String {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(fd) = openat(at, name, flags, Mode::empty()) else {
        return String::new();
    };
    let mut bytes = Vec::new();
    // What can be read of a file that cannot be read to its end is still worth having.
    let _ = std::fs::File::from(fd).take(LARGEST).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes a file if it is there.
pub fn unlink(at: &OwnedFd, name: &str) {
    // Not there is what is wanted; any other error shows at the next use of the name.
    let _ = unlinkat(at, name, AtFlags::empty());
}

/// Removes a folder if it is empty.
pub fn remove_dir(at: &OwnedFd, name: &str) {
    // A folder that is not empty still has work for somebody.
    let _ = unlinkat(at, name, AtFlags::REMOVEDIR);
}

/// Whether a file exists and was changed less than `age` ago.
pub fn is_younger(at: &impl AsFd, name: &str, age: Duration) -> bool {
    let Ok(stat) = statat(at, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
    // A change in the future is a clock that was set back: as good as new.
    now.saturating_sub(changed) < age
}

/// The names in a folder, sorted.
pub fn names(at: &OwnedFd) -> Vec<String> {
    let Ok(entries) = Dir::read_from(at) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned))
        .filter(|name| name != "." && name != "..")
        .collect();
    names.sort();
    names
}
