//! Slurm's version: read from slurm_version.h, and the cfgs that follow from it.

use std::fmt;
use std::path::Path;

/// A release of Slurm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The year, such as 22.
    pub major: u32,
    /// The month, such as 5.
    pub minor: u32,
    /// The maintenance release, such as 8.
    pub micro: u32,
}

/// The release whose documentation a build without headers shows.
pub const DOCUMENTED: Version = Version { major: 22, minor: 5, micro: 8 };

const fn release(major: u32, minor: u32) -> Version {
    Version { major, minor, micro: 0 }
}

/// Each cfg with the first release that sets it. It means "this release or a later one".
const SINCE: [(&str, Version); 9] = [
    ("slurm_22_05", release(22, 5)),
    ("slurm_23_02", release(23, 2)),
    ("slurm_23_11", release(23, 11)),
    ("slurm_24_05", release(24, 5)),
    ("slurm_24_11", release(24, 11)),
    ("slurm_25_05", release(25, 5)),
    ("slurm_25_11", release(25, 11)),
    ("slurm_26_05", release(26, 5)),
    ("slurm_26_11", release(26, 11)),
];

/// The names of all cfgs, for cargo's check of their spelling.
#[allow(clippy::indexing_slicing)] // evaluated at compile time
pub const ALL: [&str; SINCE.len()] = {
    let mut names = [""; SINCE.len()];
    let mut i = 0;
    while i < SINCE.len() {
        names[i] = SINCE[i].0;
        i += 1;
    }
    names
};

impl Version {
    /// `SLURM_VERSION_NUMBER` of this release.
    pub fn number(self) -> u32 {
        (self.major << 16) | (self.minor << 8) | self.micro
    }

    /// The cfgs that hold for this release.
    pub fn cfgs(self) -> impl Iterator<Item = &'static str> {
        SINCE.into_iter().filter(move |(_, since)| self >= *since).map(|(name, _)| name)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}.{}", self.major, self.minor, self.micro)
    }
}

/// Reads a release as people write it, with or without the last part.
pub fn parse(text: &str) -> Option<Version> {
    let mut parts = text.trim().split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    let micro = match parts.next() {
        Some(part) => part.parse().ok()?,
        None => 0,
    };
    let known = parts.next().is_none() && major <= 0xff && minor <= 0xff && micro <= 0xff;
    known.then_some(Version { major, minor, micro })
}

/// Reads `SLURM_VERSION_NUMBER` from a slurm_version.h.
pub fn of_header(path: &Path) -> Result<Version, String> {
    println!("cargo:rerun-if-changed={}", path.display());
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let number = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("#define SLURM_VERSION_NUMBER"))
        .map(str::trim)
        .and_then(|value| value.strip_prefix("0x"))
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .ok_or_else(|| format!("{} defines no SLURM_VERSION_NUMBER", path.display()))?;
    Ok(Version { major: number >> 16, minor: (number >> 8) & 0xff, micro: number & 0xff })
}
