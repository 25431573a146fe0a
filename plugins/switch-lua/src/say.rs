//! What the plug-in and the script say to Slurm's log.

use spank::log::{self, Level};
use switch_lua_core::PREFIX;
use switch_lua_core::record::Problem;
use switch_lua_core::wire;

/// An error of ours.
pub fn error(text: impl std::fmt::Display) {
    log::log(Level::Error, format_args!("{PREFIX}: {text}"));
}

/// Something an administrator may want to know.
pub fn info(text: impl std::fmt::Display) {
    log::log(Level::Info, format_args!("{PREFIX}: {text}"));
}

/// Something for those who look for a fault.
pub fn debug(text: impl std::fmt::Display) {
    log::log(Level::Debug, format_args!("{PREFIX}: {text}"));
}

/// What is wrong with the plugstack.conf line.
pub fn errors(errors: &[String]) {
    for line in errors {
        error(format_args!("{line}; until it is mended, steps of jobs with --network fail"));
    }
}

/// A record that cannot be read.
pub fn problem(problem: Problem) {
    error(format_args!("record {problem}"));
}

/// A line of the script; the worker has put the prefix before it.
pub fn script(level: wire::Level, text: &wire::Text) {
    let level = match level {
        wire::Level::Error => Level::Error,
        wire::Level::Info => Level::Info,
        wire::Level::Verbose => Level::Verbose,
        wire::Level::Debug => Level::Debug,
        wire::Level::Debug2 => Level::Debug2,
        // spank.h declares no deeper level.
        wire::Level::Debug3 | wire::Level::Debug4 => Level::Debug3,
    };
    log::log(level, format_args!("{}", String::from_utf8_lossy(text.as_bytes())));
}
