//! Ring 4: the plug-ins on a real Slurm, started by `slurm-test-cluster`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod answers;
mod site;
