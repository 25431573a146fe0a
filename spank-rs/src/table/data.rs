//! The rows, written by `build/table.rs` out of the files in `data/`.
#![forbid(unsafe_code)]

use super::rows::{Documented, Exit, Fails, Job, JobExit, Observed};
use super::words::{Command, JobState, Mode, Release};
use crate::handle::context::Which as Context;
use crate::handle::phase::Which as Hook;

include!(concat!(env!("OUT_DIR"), "/table.rs"));
