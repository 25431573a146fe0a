//! The Lua side shared by the Slurm bridges: loads a site's script, runs its functions, reads their answers.
//!
//! It knows nothing of Slurm's interfaces: log lines leave through a [`Sink`], environment changes
//! and answers leave as plain values, and what they mean is decided by the caller. The scripts run
//! as root on many nodes, so everything that can go wrong comes back as a value with one clear
//! line: no function here panics, and a panic below is caught.
//!
//! What a script sees, beyond the standard libraries:
//! - the `slurm` table: `SUCCESS`, `ERROR`, `FAILURE`, `EAGAIN`; `log_error`, `log_info`,
//!   `log_verbose`, `log_debug`, `log_debug2` to `log_debug4` with a format, `log(level, msg)`,
//!   `error(msg)`; `to_json`, `from_json`, `to_yaml`, `from_yaml`, `null` and `array(t)` (see
//!   [`data`]);
//! - `print` writes to the log at level info, `os.exit` raises an error, and both `unpack` and
//!   `table.unpack` exist;
//! - `package.path` and `package.cpath` are the defaults built into Lua, whatever the environment
//!   says, without the entries relative to the working directory, which may be a user's;
//! - `io.write` and `io.stdout` are left as they are: a caller whose standard output means
//!   something points it to `/dev/null`.
//!
//! With Lua 5.1 and LuaJIT, whose only numbers are floats, integers beyond 2^53 lose their last
//! digits on the way into a script.
#![deny(unsafe_code)]

pub mod answer;
pub mod data;
mod engine;
pub mod env;
mod failure;
pub mod format;
mod level;
mod load_error;
mod script;
#[allow(unsafe_code)]
mod state;
mod stdlib;
pub mod text;
mod trust;

pub use answer::Answer;
pub use data::{Data, Key, Limits};
pub use engine::{Call, Defined, Engine, Error, Settings};
pub use env::EnvChange;
pub use failure::Failure;
pub use level::{Level, Sink};
pub use load_error::LoadError;
pub use mlua;
pub use script::{Identity, MAX_SCRIPT, Script};
pub use text::{number_text, one_line};
pub use trust::Trust;
