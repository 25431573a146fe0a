//! Slurm's log: one line a message, control bytes escaped, never a format.
//!
//! tracing's events come here through a subscriber without spans and without thread-locals: srun,
//! salloc and sbatch call the exit hook from atexit, when thread-locals are gone.
#![forbid(unsafe_code)]

mod line;
mod subscriber;

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ffi::{self, Function};
pub use line::escape;
pub(crate) use subscriber::install;

/// Slurm's log levels, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `slurm_error`: in slurmstepd also shown to the user from `user_init` on.
    Error,
    /// `slurm_info`: in srun, salloc and sbatch shown on the terminal.
    Info,
    /// `slurm_verbose`.
    Verbose,
    /// `slurm_debug`.
    Debug,
    /// `slurm_debug2`.
    Debug2,
    /// `slurm_debug3`; spank.h declares no deeper one.
    Debug3,
}

impl Level {
    /// All levels, most important first.
    pub const ALL: [Level; 6] =
        [Level::Error, Level::Info, Level::Verbose, Level::Debug, Level::Debug2, Level::Debug3];

    /// The name in Slurm's own words, such as `debug2`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Info => "info",
            Level::Verbose => "verbose",
            Level::Debug => "debug",
            Level::Debug2 => "debug2",
            Level::Debug3 => "debug3",
        }
    }

    fn function(self) -> Function {
        match self {
            Level::Error => Function::Error,
            Level::Info => Function::Info,
            Level::Verbose => Function::Verbose,
            Level::Debug => Function::Debug,
            Level::Debug2 => Function::Debug2,
            Level::Debug3 => Function::Debug3,
        }
    }
}

static LEAST: AtomicU8 = AtomicU8::new(Level::Debug3 as u8);

/// Drops messages below `level`, on top of Slurm's own filter, which this cannot widen.
pub fn limit(level: Level) {
    LEAST.store(level as u8, Ordering::Relaxed);
}

/// Whether a message of this level would be written anywhere: by [`limit`], and by Slurm's own level.
pub(crate) fn passes(level: Level) -> bool {
    // Slurm counts quiet, fatal, error, info and so on from 0 (slurm.h, `log_level_t`).
    const FIRST: i32 = 2;
    level as u8 <= LEAST.load(Ordering::Relaxed)
        && ffi::threshold().is_none_or(|most| i32::from(level as u8) + FIRST <= most)
}

/// Logs one message at a level.
pub fn log(level: Level, message: fmt::Arguments<'_>) {
    if passes(level) {
        write(level.function(), message);
    }
}

/// Logs an error.
pub fn error(message: fmt::Arguments<'_>) {
    log(Level::Error, message);
}

/// Tells the user, or the daemon's log where there is no user: `slurm_spank_log`, without a prefix.
pub fn tell(message: fmt::Arguments<'_>) {
    write(Function::User, message);
}

fn write(function: Function, message: fmt::Arguments<'_>) {
    let mut text = String::new();
    // A Display that fails has written what it could.
    let _ = text.write_fmt(message);
    ffi::log(function, &line::c_line(&text));
}
