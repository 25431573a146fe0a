//! Log levels under Slurm's names, and the place where log lines go.
#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// A level of Slurm's log, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// `slurm_error`.
    Error,
    /// `slurm_info`.
    Info,
    /// `slurm_verbose`.
    Verbose,
    /// `slurm_debug`.
    Debug,
    /// `slurm_debug2`.
    Debug2,
    /// `slurm_debug3`.
    Debug3,
    /// `slurm_debug4`.
    Debug4,
}

impl Level {
    /// All levels, the most important first.
    pub const ALL: [Level; 7] = [
        Level::Error,
        Level::Info,
        Level::Verbose,
        Level::Debug,
        Level::Debug2,
        Level::Debug3,
        Level::Debug4,
    ];

    /// The number that `slurm.log(level, msg)` takes for it: 0 is info, as in Slurm's own Lua
    /// plug-ins. Slurm has no number for errors there; -1 is ours.
    pub fn number(self) -> i64 {
        match self {
            Level::Error => -1,
            Level::Info => 0,
            Level::Verbose => 1,
            Level::Debug => 2,
            Level::Debug2 => 3,
            Level::Debug3 => 4,
            Level::Debug4 => 5,
        }
    }

    /// The level with this number; as in Slurm, everything above 5 is `Debug4`.
    pub fn from_number(number: i64) -> Option<Level> {
        if number > 5 {
            return Some(Level::Debug4);
        }
        Level::ALL.into_iter().find(|level| level.number() == number)
    }

    /// The name, as in `slurm.log_info`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Info => "info",
            Level::Verbose => "verbose",
            Level::Debug => "debug",
            Level::Debug2 => "debug2",
            Level::Debug3 => "debug3",
            Level::Debug4 => "debug4",
        }
    }
}

/// Where log lines go.
pub trait Sink {
    /// Takes one line: UTF-8 without control characters other than tabs, prefix included, not
    /// longer than [`crate::text::MAX_LINE`]. It is not a format.
    fn log(&self, level: Level, text: &[u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SW-241.
    #[test]
    fn numbers_are_those_of_slurm() {
        for level in Level::ALL {
            assert_eq!(Level::from_number(level.number()), Some(level));
        }
        assert_eq!(Level::from_number(0), Some(Level::Info));
        assert_eq!(Level::from_number(9), Some(Level::Debug4));
        assert_eq!(Level::from_number(-2), None);
        assert!(Level::Error < Level::Debug4);
    }
}
