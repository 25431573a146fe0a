//! Between Slurm's C calls and the plug-in's hooks: instances, panic guard, errors to codes.
//!
//! Public for the expansion of `plugin!` alone.

mod instances;
mod options;

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once};

use spank_sys::spank_t;

use crate::error::{Error, Result};
use crate::ffi::{self, Raw};
use crate::handle::Handle;
use crate::handle::context;
use crate::handle::phase::{self, Phase};
use crate::hook::{Plugin, WhenBroken};
use crate::log;
use instances::{Found, Instances};
pub use options::{Exported, Options, Table, table};

/// What Slurm takes for a failure in every hook and release.
const FAILURE: c_int = -1;

/// A hook as the runtime calls it; each hook trait brings the implementation.
pub trait Dispatch<T: Plugin>: Phase {
    /// The context its handle has.
    type Context;
    /// Calls the hook.
    ///
    /// # Errors
    /// Whatever the hook answers.
    fn call(plugin: &mut T, cx: Handle<'_, Self, Self::Context>) -> Result<()>
    where
        Self: Sized;
}

/// All instances of a plug-in in this process, one per line of plugstack.conf, and what was given of its
/// options, which are one set for all lines.
pub struct State<P> {
    instances: Mutex<Instances<P>>,
    options: Mutex<Options>,
}

impl<P: Exported> State<P> {
    /// No instance yet.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        State { instances: Mutex::new(Instances::new()), options: Mutex::new(Options::new::<P>()) }
    }
}

/// The C function of a hook.
///
/// # Safety
/// To be called by Slurm alone: with its handle, live until this returns, and with `ac` arguments
/// at `av`.
pub unsafe fn enter<T: Exported, P: Dispatch<T>>(
    handle: spank_t,
    ac: c_int,
    av: *mut *mut c_char,
) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        prepare::<T>();
        let Some(context) = ffi::context() else {
            report::<T>(P::WHICH, &Error::NoContext);
            return 0;
        };
        // SAFETY: the caller's promise about `ac` and `av`.
        let arguments = unsafe { ffi::arguments(ac, av) };
        // SAFETY: the caller's promise about `handle`; `raw` ends with this call.
        let raw = unsafe { Raw::new(handle, context) };
        run::<T, P>(raw, av as usize, arguments)
    }));
    // The guard in `run` has caught and reported every panic of the plug-in; one that gets here is
    // of this runtime, and the hook counts as not there.
    outcome.unwrap_or(0)
}

fn run<T: Exported, P: Dispatch<T>>(raw: Raw<'_>, line: usize, arguments: Vec<Vec<u8>>) -> c_int {
    // Never waits: a hook that is entered while another runs (exit called from a hook, through
    // atexit) is not run.
    let state = T::state();
    let Ok(mut instances) = state.instances.try_lock() else {
        let error = Error::message("entered while another hook of this plug-in runs; not called");
        report::<T>(P::WHICH, &error);
        return 0;
    };
    let instance = match instances.find(P::WHICH, line, arguments) {
        Found::Instance(instance) => instance,
        Found::Repeated { first_time } => {
            if first_time {
                report::<T>(
                    P::WHICH,
                    &Error::message(
                        "listed twice in plugstack.conf with the same arguments; \
                         the second line does nothing: remove it",
                    ),
                );
            }
            return 0;
        }
    };
    let args = &instance.args;
    if instance.plugin.is_none() && !instance.broken {
        match guarded(|| T::new(args)) {
            Some(Ok(plugin)) => instance.plugin = Some(plugin),
            Some(Err(error)) => {
                report::<T>(P::WHICH, &error);
                instance.broken = true;
            }
            None => instance.broken = true,
        }
    }
    let Some(plugin) = instance.plugin.as_mut().filter(|_| !instance.broken) else {
        return broken::<T>(P::WHICH);
    };
    if P::WHICH == phase::Which::Init {
        options::register_all::<T>(&raw);
    }
    match guarded(|| P::call(plugin, Handle::new(raw, args, &state.options))) {
        Some(Ok(())) => 0,
        Some(Err(error)) => {
            if !matches!(error, Error::Reported) {
                report::<T>(P::WHICH, &error);
            }
            FAILURE
        }
        None => {
            instance.broken = true;
            broken::<T>(P::WHICH)
        }
    }
}

/// Runs plug-in code; `None` if it panicked (the panic hook has logged it).
fn guarded<R>(code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}

/// What a hook of a plug-in that cannot go on answers.
fn broken<T: Plugin>(hook: phase::Which) -> c_int {
    let in_task = matches!(hook, phase::Which::TaskInitPrivileged | phase::Which::TaskInit);
    match T::WHEN_BROKEN {
        WhenBroken::Fail => FAILURE,
        WhenBroken::FailTasks if in_task => FAILURE,
        WhenBroken::FailTasks | WhenBroken::Ignore => 0,
    }
}

fn report<T: Plugin>(hook: phase::Which, error: &Error) {
    let name = T::NAME.to_string_lossy();
    let in_client =
        matches!(ffi::context(), Some(context::Which::Local | context::Which::Allocator));
    if in_client {
        log::error(format_args!("{name}: {error}"));
    } else {
        log::error(format_args!("{name}: {}: {error}", hook.symbol()));
    }
}

/// Once per process: stay loaded, take panics and events to Slurm's log.
fn prepare<T: Plugin>() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        ffi::stay_loaded();
        // This is the hook of the plug-in's own copy of std, not of the process.
        std::panic::set_hook(Box::new(|info| {
            let what = info.payload();
            let text = what
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| what.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("a value that is no text");
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            let name = T::NAME.to_string_lossy();
            log::error(format_args!("{name}: panic at {place}: {text} (this is a bug: report it)"));
        }));
        log::install();
    });
}

/// A C string as the array that a data symbol has to be.
#[allow(clippy::indexing_slicing)] // evaluated at compile time
pub const fn bytes<const N: usize>(text: &CStr) -> [u8; N] {
    let from = text.to_bytes_with_nul();
    let mut to = [0; N];
    let mut i = 0;
    while i < N {
        to[i] = from[i];
        i += 1;
    }
    to
}

/// Whether two names are the same, for `plugin!`'s comparison at compile time.
#[allow(clippy::indexing_slicing)] // evaluated at compile time
pub const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut i = 0;
    while i < one.len() {
        if one[i] != other[i] {
            return false;
        }
        i += 1;
    }
    true
}
