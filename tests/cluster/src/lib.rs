//! A private, real Slurm cluster on this machine for integration tests.
//!
//! munged, slurmctld and the slurmds live in one directory under `/tmp`, on free ports of the
//! loopback address and with keys of their own, so several clusters can run at the same time. The
//! daemons come from the installed packages and are started as root (slurmctld as `slurm`); jobs
//! run as `nobody`. Dropping the [`Cluster`] ends every process and removes every file. When the
//! test process is killed instead, a guard process does the same.
//!
//! ```no_run
//! let cluster = slurm_test_cluster::Cluster::builder().nodes(2).start().unwrap();
//! let out = cluster.user(&["srun", "-N2", "id", "-u"]).output();
//! assert_eq!(out.code, Some(0), "{}", out.stderr);
//! ```
//!
//! Calls that a test can't go on without panic, with the logs in the text; only [`Builder::start`]
//! returns an error. With `SPANK_KEEP` set in the environment the directory stays, for reading the
//! logs afterwards.
#![allow(
    clippy::panic,
    reason = "a harness reports what went wrong by failing the test that uses it"
)]

mod builder;
mod cgroup;
mod cluster;
mod config;
mod daemons;
mod error;
mod faults;
mod guard;
mod logs;
mod ports;
mod proc;
mod process;
mod query;
mod run;
mod spawner;

pub use builder::Builder;
pub use cluster::Cluster;
pub use error::Error;
pub use faults::Stepd;
pub use logs::{Logs, Mark};
pub use query::{Job, Node};
pub use run::{Background, Output, Run};
