//! Why a script was not loaded, in one line each: file, place, value and what to do.
#![forbid(unsafe_code)]

use std::fmt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::text::one_line;

/// Why a script cannot be read, compiled or run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The file, or a directory on the way to it, is missing or cannot be looked at.
    Stat {
        /// The script.
        path: PathBuf,
        /// The system's reason.
        cause: String,
    },
    /// The file cannot be opened or read.
    Read {
        /// The script.
        path: PathBuf,
        /// The system's reason.
        cause: String,
    },
    /// The path names something else than a regular file.
    NotAFile {
        /// The script.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The file, a directory or a link on the way to it belongs to someone who is not trusted.
    Owner {
        /// The script.
        path: PathBuf,
        /// What has the wrong owner.
        place: PathBuf,
        /// The owner.
        uid: u32,
        /// Who may own it.
        allowed: Vec<u32>,
    },
    /// The file or a directory on the way to it can be changed by others than its owner.
    Writable {
        /// The script.
        path: PathBuf,
        /// What is writable.
        place: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The path leads through too many symbolic links.
    Links {
        /// The script.
        path: PathBuf,
    },
    /// The file is too large.
    TooLarge {
        /// The script.
        path: PathBuf,
        /// How large a script may be, in bytes.
        limit: u64,
    },
    /// The file was written while it was read.
    Changed {
        /// The script.
        path: PathBuf,
    },
    /// The file is a precompiled chunk.
    Binary {
        /// The script.
        path: PathBuf,
    },
    /// The script does not compile.
    Syntax {
        /// The script.
        path: PathBuf,
        /// The line.
        line: Option<u32>,
        /// What the compiler says.
        message: String,
    },
    /// The top level raised an error.
    Failed {
        /// The script.
        path: PathBuf,
        /// The error.
        failure: Failure,
    },
    /// The top level returned a number other than 0.
    Returned {
        /// The script.
        path: PathBuf,
        /// The number.
        number: String,
    },
}

impl LoadError {
    /// Takes the compiler's message, `chunk:line: text`, apart.
    pub(crate) fn syntax(path: &Path, message: &str) -> LoadError {
        // The chunk's name is the path, or its end behind dots if it is long.
        let name = path.to_string_lossy();
        let rest = message.strip_prefix(name.as_ref()).or_else(|| {
            let (shown, _) = message.strip_prefix("...")?.split_once(':')?;
            name.ends_with(shown).then(|| message.get(3 + shown.len()..)).flatten()
        });
        let parts = rest
            .and_then(|rest| rest.strip_prefix(':')?.split_once(": "))
            .and_then(|(line, text)| Some((line.parse().ok()?, text)));
        LoadError::Syntax {
            path: path.to_owned(),
            line: parts.map(|(line, _)| line),
            message: parts.map_or(message, |(_, text)| text).to_owned(),
        }
    }

    fn write(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self {
            LoadError::Stat { path, cause } => write!(
                f,
                "Unable to stat {}: {cause}: install the script there or correct the path",
                path.display()
            ),
            LoadError::Read { path, cause } => {
                write!(f, "script {}: cannot be read: {cause}", path.display())
            }
            LoadError::NotAFile { path, kind } => {
                write!(f, "script {}: is a {kind}: a regular file is needed", path.display())
            }
            LoadError::Owner { path, place, uid, allowed } => {
                let names: Vec<String> = allowed.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "script {}: {} is owned by uid {uid}, not by uid {}: change its owner",
                    path.display(),
                    self.place(place),
                    names.join(" or ")
                )
            }
            LoadError::Writable { path, place, mode } => write!(
                f,
                "script {}: {} has mode {:04o} and can be changed by others: chmod go-w it",
                path.display(),
                self.place(place),
                mode & 0o7777
            ),
            LoadError::Links { path } => write!(
                f,
                "script {}: more than {} symbolic links on the way to it",
                path.display(),
                crate::trust::MAX_LINKS
            ),
            LoadError::TooLarge { path, limit } => {
                write!(f, "script {}: is larger than {limit} bytes", path.display())
            }
            LoadError::Changed { path } => write!(
                f,
                "script {}: was changed while it was read: replace it by renaming a new file",
                path.display()
            ),
            LoadError::Binary { path } => write!(
                f,
                "script {}: is a precompiled chunk: install the source text",
                path.display()
            ),
            LoadError::Syntax { path, line, message } => {
                write!(f, "script {}:", path.display())?;
                if let Some(line) = line {
                    write!(f, "{line}:")?;
                }
                write!(f, " syntax error: {message}")
            }
            LoadError::Failed { path, failure } => {
                write!(f, "script {}: error on load: {failure}", path.display())
            }
            LoadError::Returned { path, number } => write!(
                f,
                "script {}: returned {number} on load: its top level must return nothing or slurm.SUCCESS (0)",
                path.display()
            ),
        }
    }

    /// What is wrong, where it is not the script itself.
    fn place(&self, place: &Path) -> String {
        match self {
            LoadError::Owner { path, .. } | LoadError::Writable { path, .. } if path == place => {
                "it".to_owned()
            }
            _ => place.display().to_string(),
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(&mut text)?;
        f.write_str(&one_line(text.as_bytes()))
    }
}

impl std::error::Error for LoadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_message_is_taken_apart() {
        let long = format!("/{}/switch.lua", "d".repeat(80));
        let shown = format!("...{}:7: '=' expected", &long[long.len() - 56..]);
        for (path, message) in [
            ("/etc/switch.lua", "/etc/switch.lua:7: '=' expected"),
            (long.as_str(), shown.as_str()),
        ] {
            let error = LoadError::syntax(Path::new(path), message);
            assert_eq!(error.to_string(), format!("script {path}:7: syntax error: '=' expected"));
        }
        let error = LoadError::syntax(Path::new("/x"), "chunk has too many syntax levels");
        assert_eq!(error.to_string(), "script /x: syntax error: chunk has too many syntax levels");
    }

    #[test]
    fn control_bytes_of_a_path_are_escaped() {
        let error = LoadError::Links { path: PathBuf::from("/a\n\x1b[2J") };
        assert!(error.to_string().starts_with(r"script /a\n\x1b[2J: more"), "{error}");
    }
}
