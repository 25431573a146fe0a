//! A site's script as it was read: once, through one open file, with the checks made on that file.
#![forbid(unsafe_code)]

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::load_error::LoadError;
use crate::trust::{Trust, cause, kind};

/// The largest script that is read, in bytes.
pub const MAX_SCRIPT: u64 = 16 << 20;

/// The text of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// The path it was asked for by.
    pub path: PathBuf,
    /// The bytes of the file.
    pub source: Vec<u8>,
    /// Which file it was.
    pub identity: Identity,
}

/// Tells whether a file is still the one that was read: any difference means that it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Last modification, seconds and nanoseconds.
    pub mtime: (i64, i64),
    /// Last change of the inode, seconds and nanoseconds.
    pub ctime: (i64, i64),
}

impl Identity {
    fn of(metadata: &Metadata) -> Identity {
        Identity {
            dev: metadata.dev(),
            ino: metadata.ino(),
            size: metadata.size(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Script {
    /// Reads a script that only trusted users can have written.
    ///
    /// The file must be a regular one of at most [`MAX_SCRIPT`] bytes; it, the directories above
    /// it and links on the way must belong to a user in `trust` and not be writable by group or
    /// others.
    pub fn read(path: &Path, trust: &Trust) -> Result<Script, LoadError> {
        let real = trust.walk(path)?;
        let read_error =
            |error: io::Error| LoadError::Read { path: path.to_owned(), cause: cause(&error) };
        // A FIFO must not block us; the walk has resolved all links, so there is none to follow.
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(&real, flags, Mode::empty())
            .map(File::from)
            .map_err(|errno| read_error(errno.into()))?;
        let metadata = file.metadata().map_err(read_error)?;
        if !metadata.is_file() {
            return Err(LoadError::NotAFile { path: path.to_owned(), kind: kind(&metadata) });
        }
        trust.check(path, &real, &metadata)?;
        let mut source = Vec::new();
        (&file).take(MAX_SCRIPT + 1).read_to_end(&mut source).map_err(read_error)?;
        if source.len() as u64 > MAX_SCRIPT {
            return Err(LoadError::TooLarge { path: path.to_owned(), limit: MAX_SCRIPT });
        }
        let identity = Identity::of(&metadata);
        if identity != Identity::of(&file.metadata().map_err(read_error)?) {
            return Err(LoadError::Changed { path: path.to_owned() });
        }
        Ok(Script { path: path.to_owned(), source, identity })
    }

    /// A script whose text comes from elsewhere; no file is looked at.
    pub fn from_source(path: &Path, source: Vec<u8>) -> Script {
        Script { path: path.to_owned(), source, identity: Identity::default() }
    }

    /// The text for the compiler: without byte order mark and without a first line that begins
    /// with `#`, whose line end stays so that line numbers are right.
    pub(crate) fn text(&self) -> &[u8] {
        let text = self.source.strip_prefix(b"\xef\xbb\xbf");
        let text = text.unwrap_or(&self.source);
        if text.first() != Some(&b'#') {
            return text;
        }
        let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        end.and_then(|end| text.get(end..)).unwrap_or_default()
    }

    /// Whether it is a precompiled chunk, also behind a first line with `#`.
    pub(crate) fn is_binary(&self) -> bool {
        const SIGNATURE: u8 = 0x1b;
        let text = self.text();
        text.trim_ascii_start().first() == Some(&SIGNATURE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &[u8]) -> Vec<u8> {
        Script::from_source(Path::new("/x"), source.to_vec()).text().to_vec()
    }

    #[test]
    fn mark_and_first_line_are_left_out_and_lines_still_count() {
        assert_eq!(text(b"x = 1"), b"x = 1");
        assert_eq!(text(b"\xef\xbb\xbfx = 1"), b"x = 1");
        assert_eq!(text(b"#!/usr/bin/lua\nx = 1"), b"\nx = 1");
        assert_eq!(text(b"\xef\xbb\xbf#!/usr/bin/lua\r\nx"), b"\r\nx");
        assert_eq!(text(b"#!/usr/bin/lua"), b"");
        assert_eq!(text(b""), b"");
    }

    #[test]
    fn a_precompiled_chunk_is_recognised() {
        for source in [b"\x1bLua".as_slice(), b"#!x\n\x1bLua", b"\xef\xbb\xbf\x1bLua"] {
            assert!(Script::from_source(Path::new("/x"), source.to_vec()).is_binary());
        }
    }
}
