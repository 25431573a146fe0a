//! SPANK plug-ins for Slurm in safe Rust.
//!
//! A plug-in is a type, one `impl` per hook, and one line that lists the hooks:
//!
//! ```no_run
//! use spank::prelude::*;
//!
//! struct Hello;
//!
//! impl Plugin for Hello {
//!     const NAME: &'static core::ffi::CStr = c"hello";
//!     fn new(_args: &Args) -> Result<Self> {
//!         Ok(Hello)
//!     }
//! }
//!
//! impl Init for Hello {
//!     fn init(&mut self, cx: InitCx<'_>) -> Result<()> {
//!         if let In::Remote(mut step) = cx.split() {
//!             tracing::info!("step {} of job {}", step.step_id()?, step.job_id()?);
//!             step.setenv(b"HELLO", b"1", true)?;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! spank::plugin!(Hello: Init);
//! # fn main() {}
//! ```
//!
//! Only listed hooks are exported, since Slurm acts on the presence of a symbol. A hook that is
//! implemented and not listed does not compile, nor does one that is listed and not implemented.
//! Each hook gets a handle of its own type, which has the methods that Slurm answers there and no
//! others. No panic reaches Slurm.
//!
//! [`cookbook`] has whole plug-ins for what people do with SPANK.
//!
//! A `.so` is built for one release: Slurm's loader compares major and minor version.

#[doc = include_str!("../cookbook.md")]
pub mod cookbook {}
mod env;
mod error;
mod export;
mod ffi;
mod handle;
mod hook;
pub mod log;
mod option;
#[doc(hidden)]
pub mod rt;
mod slurm;
mod step;
pub mod table;

pub use env::{MAX_ENTRY, MAX_NAME};
pub use error::{Code, Error, Result, ResultExt};
pub use handle::{Handle, In, caps, context, phase};
pub use hook::*;
pub use option::{Check, Given, HasArg, Occurrences, Opt};
pub use slurm::{Controller, JobRecord};
pub use spank_sys::{SLURM_VERSION, SLURM_VERSION_NUMBER};
pub use step::StepId;

#[doc(hidden)]
pub use spank_sys as sys;

/// Whether the Slurm that runs knows a hook, or the variable `slurm_spank_init_failure_mode` (25.05 and
/// later), by its C name.
pub fn symbol_supported(name: &std::ffi::CStr) -> bool {
    ffi::symbol_supported(name)
}

/// The file that the plug-in was loaded from; `None` if the loader does not say.
pub fn plugin_file() -> Option<std::path::PathBuf> {
    ffi::own_file()
}

/// What most plug-ins need, in one `use`.
pub mod prelude {
    pub use crate::error::{Error, Result, ResultExt};
    pub use crate::handle::{Handle, In};
    pub use crate::hook::*;
    pub use crate::option::{Given, Opt};
    pub use crate::step::StepId;
}
