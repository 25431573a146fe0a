//! The command `spank`: looks at scripts of Slurm's SPANK plug-ins before they are installed.
#![forbid(unsafe_code)]

mod check;
mod cli;

use std::process::ExitCode;

use clap::Parser as _;

use cli::{Arguments, Command};

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Check(arguments) => check::run(&arguments),
    }
}
