//! Ring 4: the plug-ins on a real Slurm, started by `slurm-test-cluster`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod answers;
mod bounds;
mod broken;
mod calls;
mod cgroup;
mod compiled;
mod deaths;
mod drains;
mod environment;
mod example;
mod moments;
mod no_epilog;
mod probe;
mod refusals;
mod site;
mod table;
mod valgrind;
