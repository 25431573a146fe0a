//! The switch/lua bridge without Slurm and without Lua: settings, verdicts, the node-local record,
//! and the talk with the worker process that runs the script.
//!
//! The plug-in (`spank-switch-lua`) brings Slurm's side, the worker (`switch-lua-worker`) Lua's.
#![forbid(unsafe_code)]

pub mod environment;
pub mod orphans;
pub mod process;
pub mod record;
pub mod settings;
pub mod special;
pub mod verdict;
pub mod wire;
pub mod worker;

/// What every line in a log begins with.
pub const PREFIX: &str = "switch/lua";

/// What the user of a refused step reads; the text of Slurm's `ESLURM_INTERCONNECT_FAILURE`.
pub const REFUSAL: &str = "Error configuring interconnect";

/// The drain reason that the switch/lua document gives.
pub const DRAIN_REASON: &str = "switch_g_job_postfini failed";
