//! The error type of hooks and of every call into Slurm.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt;

/// A `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error number of Slurm (`ESPANK_*` or another `slurm_err_t`).
///
/// A number and not an enum: Slurm's own enum has neither 0 nor −1, and grows with each release.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub u32);

impl Code {
    /// A generic failure.
    pub const ERROR: Code = Code(spank_sys::ESPANK_ERROR);
    /// A bad argument.
    pub const BAD_ARG: Code = Code(spank_sys::ESPANK_BAD_ARG);
    /// The hook has no task (always so in the extern step).
    pub const NOT_TASK: Code = Code(spank_sys::ESPANK_NOT_TASK);
    /// The variable is set, and overwriting was not asked for.
    pub const ENV_EXISTS: Code = Code(spank_sys::ESPANK_ENV_EXISTS);
    /// The variable is not set.
    pub const ENV_NOEXIST: Code = Code(spank_sys::ESPANK_ENV_NOEXIST);
    /// The buffer is too small.
    pub const NOSPACE: Code = Code(spank_sys::ESPANK_NOSPACE);
    /// Valid only in slurmstepd.
    pub const NOT_REMOTE: Code = Code(spank_sys::ESPANK_NOT_REMOTE);
    /// No such id or pid on this node.
    pub const NOEXIST: Code = Code(spank_sys::ESPANK_NOEXIST);
    /// No task runs yet.
    pub const NOT_EXECD: Code = Code(spank_sys::ESPANK_NOT_EXECD);
    /// Not available in this hook.
    pub const NOT_AVAIL: Code = Code(spank_sys::ESPANK_NOT_AVAIL);
    /// slurmctld knows no such job.
    pub const INVALID_JOB_ID: Code = Code(spank_sys::ESLURM_INVALID_JOB_ID);
    /// Valid only in srun, salloc and sbatch.
    pub const NOT_LOCAL: Code = Code(spank_sys::ESPANK_NOT_LOCAL);
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Code({})", self.0)
    }
}

/// Why a call or a hook failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Slurm refused a call.
    Host {
        /// The C function, such as `spank_get_item`.
        call: &'static str,
        /// What it was asked for, such as `S_JOB_ID` or a variable's name.
        what: Cow<'static, str>,
        /// Its answer.
        code: Code,
    },
    /// A value that cannot be passed to Slurm, or that Slurm would silently drop.
    Value {
        /// The value's name.
        what: Cow<'static, str>,
        /// Why it cannot be used.
        reason: &'static str,
    },
    /// An argument of the plugstack.conf line.
    Argument {
        /// The argument as it stands in the file.
        argument: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// The running Slurm has no such function or item.
    Unsupported {
        /// Its name, and since when there is one.
        what: &'static str,
    },
    /// The hook fails, and what there is to say has been said: the runtime adds nothing.
    Reported,
    /// The hook runs where Slurm gives no context (it should not have been called).
    NoContext,
    /// An error with the text of what was being done.
    Context {
        /// What was being done.
        text: Cow<'static, str>,
        /// The cause.
        source: Box<Error>,
    },
    /// An error of another library.
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// An error that is only a text.
    pub fn message(text: impl Into<String>) -> Error {
        Error::Other(text.into().into())
    }

    /// Slurm's error number, if that is what this error is.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Host { code, .. } => Some(*code),
            Error::Context { source, .. } => source.code(),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Host { call, what, code } => {
                write!(f, "{call}({what}): {}", crate::ffi::strerror(*code))
            }
            Error::Value { what, reason } => write!(f, "{what}: {reason}"),
            Error::Argument { argument, reason } => {
                write!(f, "plugstack.conf argument {argument:?}: {reason}")
            }
            Error::Unsupported { what } => write!(f, "this Slurm has no {what}"),
            Error::Reported => f.write_str("failed, as reported before"),
            Error::NoContext => f.write_str("called outside of any SPANK context"),
            // The cause is part of the text, so `source` does not repeat it.
            Error::Context { text, source } => write!(f, "{text}: {source}"),
            Error::Other(error) => write!(f, "{error}"),
        }
    }
}

// `Error` itself is no `std::error::Error`, so that `?` takes every other error into `Other`.
impl<E: std::error::Error + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Error {
        Error::Other(Box::new(error))
    }
}

/// Adds what was being done to an error.
pub trait ResultExt<T> {
    /// Puts `text` before the error's own text.
    fn context(self, text: impl Into<Cow<'static, str>>) -> Result<T>;
}

impl<T, E: Into<Error>> ResultExt<T> for Result<T, E> {
    fn context(self, text: impl Into<Cow<'static, str>>) -> Result<T> {
        self.map_err(|e| Error::Context { text: text.into(), source: Box::new(e.into()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_thing_before_the_reason() {
        let error = Error::Argument { argument: "nice=oops".into(), reason: "not a number".into() };
        assert_eq!(error.to_string(), "plugstack.conf argument \"nice=oops\": not a number");
        let error: Result<()> = Err(Error::Value { what: "NAME".into(), reason: "holds a NUL" });
        let error = error.context("setting the environment").unwrap_err();
        assert_eq!(error.to_string(), "setting the environment: NAME: holds a NUL");
    }
}
