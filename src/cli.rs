//! What can be written behind `spank`, and the help text.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The crate's version and the release of Slurm it was built for.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (for Slurm ", env!("SPANK_BUILT_FOR_SLURM"), ")");

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "spank",
    version = VERSION,
    about = "Looks at scripts of Slurm's SPANK plug-ins before they are installed"
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check switch.lua files without running them
    #[command(after_help = CHECK_HELP)]
    Check(Check),
}

const CHECK_HELP: &str = "\
A script is read by the plug-in's own rules (who may own it, who may write to it and to the
directories above it) and compiled. Its top level is not run: an error that is raised there, or
that depends on what the script reads, is not found. Function names are found line by line in the
text: one that is put together when the script runs is not seen.

Each finding is a line `FILE:LINE: what; what to do`, or `FILE: ...` where no line is meant.

Exit codes: 0 nothing found, 1 something found, 2 a file could not be checked or a wrong argument.";

/// The arguments of `spank check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A uid that may own the script and its directories, besides root: your own to check a copy,
    /// SlurmUser's for a script of the controller; can be given more than once
    #[arg(long = "owner", value_name = "UID")]
    pub owners: Vec<u32>,
    /// The switch.lua files
    #[arg(required = true, value_name = "SCRIPT")]
    pub scripts: Vec<PathBuf>,
}
