//! Why a cluster could not be started.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;

/// The reasons of [`crate::Builder::start`]. The debug form is the text for people, since `unwrap`
/// shows that one.
#[non_exhaustive]
pub enum Error {
    /// A program or an account is not there; the text names the package that brings it.
    Missing(String),
    /// The caller is not root, and slurmd needs that.
    NotRoot,
    /// The builder was asked for something it can't do.
    Invalid(String),
    /// The operating system refused something.
    Io {
        /// What was being done.
        what: String,
        /// The reason.
        source: io::Error,
    },
    /// No free block of ports was found.
    NoPorts,
    /// A daemon did not come up; the text has its logs.
    NotReady {
        /// What was waited for.
        what: String,
        /// The ends of the logs.
        logs: String,
    },
}

impl Error {
    /// Returns a function that adds what was being done to an I/O error.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "a Slurm cluster can't start here: {what}"),
            Self::NotRoot => f.write_str("a Slurm cluster can't start here: slurmd needs root"),
            Self::Invalid(what) => write!(f, "cluster settings: {what}"),
            Self::Io { what, .. } => f.write_str(what),
            Self::NoPorts => f.write_str("no free block of ports on the loopback address"),
            Self::NotReady { what, logs } => write!(f, "{what} did not happen in time\n{logs}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        match self {
            Self::Io { source, .. } => write!(f, ": {source}"),
            _ => Ok(()),
        }
    }
}
