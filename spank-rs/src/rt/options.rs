//! A plug-in's options between Slurm and its hooks: registration, Slurm's callback, the static table.

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use spank_sys::spank_option;

use crate::error::{Error, Result};
use crate::ffi::{self, Raw};
use crate::handle::context::Which;
use crate::hook::Plugin;
use crate::log;
use crate::option::{Given, Opt, Values};
use crate::rt::State;

/// A plug-in with the static that `plugin!` makes for it.
pub trait Exported: Plugin {
    /// Whether its options are a static table, which Slurm registers by itself.
    const STATIC_TABLE: bool;
    /// Its state in this process.
    fn state() -> &'static State<Self>;
}

/// Slurm's callback for an option.
pub type Callback = unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int;

/// The options of a plug-in in this process.
pub struct Options {
    pub(crate) values: Values,
    registered: Vec<&'static Opt>,
    callback: Callback,
    done: bool,
}

impl Options {
    pub(super) const fn new<P: Exported>() -> Options {
        Options {
            values: Values::new(),
            registered: Vec::new(),
            callback: callback::<P>,
            done: false,
        }
    }

    /// Registers one option; its number for the callback follows those of the plug-in's own list.
    pub(crate) fn register(&mut self, raw: &Raw<'_>, opt: &'static Opt) -> Result<()> {
        let number = c_int::try_from(self.registered.len()).unwrap_or(c_int::MAX);
        raw.register(opt, number, Some(self.callback)).map_err(|code| Error::Host {
            call: "spank_option_register",
            what: opt.name.to_string_lossy().into_owned().into(),
            code,
        })?;
        self.registered.push(opt);
        Ok(())
    }

    fn find<P: Plugin>(&self, number: c_int, of_table: bool) -> Option<&'static Opt> {
        let at = usize::try_from(number).ok()?;
        if of_table { P::OPTIONS.get(at).copied() } else { self.registered.get(at).copied() }
    }
}

/// Registers the plug-in's list, once per process and where options have a use.
pub(super) fn register_all<P: Exported>(raw: &Raw<'_>) {
    if P::STATIC_TABLE || !matches!(raw.context(), Which::Local | Which::Allocator | Which::Remote)
    {
        return;
    }
    let mut options = P::state().options.lock().unwrap_or_else(PoisonError::into_inner);
    if std::mem::replace(&mut options.done, true) {
        return;
    }
    for opt in P::OPTIONS {
        if let Err(error) = options.register(raw, opt) {
            log::error(format_args!("{}: {error}", P::NAME.to_string_lossy()));
        }
    }
}

/// What Slurm calls for an option that was given: 0 accepts it.
///
/// # Safety
/// To be called by Slurm alone: `argument` is null or a NUL-terminated string.
pub unsafe extern "C" fn callback<P: Exported>(
    number: c_int,
    argument: *const c_char,
    remote: c_int,
) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        let argument = unsafe { ffi::optional(argument) };
        given::<P>(number, argument, remote != 0)
    }));
    // A panic in a check is a refusal: the value was not found to be good.
    outcome.unwrap_or(-1)
}

fn given<P: Exported>(number: c_int, argument: Option<Vec<u8>>, remote: bool) -> c_int {
    let options = &P::state().options;
    let lock = || options.lock().unwrap_or_else(PoisonError::into_inner);
    // A number of Slurm's that we never gave cannot be; accepted, it would count for nobody.
    let Some(opt) = lock().find::<P>(number, P::STATIC_TABLE) else { return -1 };
    let argument = opt.argument_of(argument);
    if let Some(check) = opt.check
        && let Err(reason) = check(Given { val: opt.val, argument: argument.as_deref(), remote })
    {
        let name = opt.name.to_string_lossy();
        match argument {
            Some(text) => {
                log::error(format_args!("--{name}={}: {reason}", String::from_utf8_lossy(&text)));
            }
            None => log::error(format_args!("--{name}: {reason}")),
        }
        return -1;
    }
    lock().values.note(opt, argument, remote);
    0
}

/// The static table `spank_options`: the options and the entry of zeros that ends it.
#[repr(transparent)]
pub struct Table<const N: usize>(#[allow(dead_code)] [spank_option; N]);

// SAFETY: the pointers lead to constants, and only Slurm reads the table.
unsafe impl<const N: usize> Sync for Table<N> {}

/// Lays out the table of a plug-in; `N` is the number of its options and one.
#[allow(clippy::indexing_slicing)] // evaluated at compile time
pub const fn table<P: Exported, const N: usize>() -> Table<N> {
    const END: spank_option = spank_option {
        name: std::ptr::null_mut(),
        arginfo: std::ptr::null_mut(),
        usage: std::ptr::null_mut(),
        has_arg: 0,
        val: 0,
        cb: None,
    };
    let mut table = [END; N];
    let mut i = 0;
    while i + 1 < N {
        table[i] = ffi::c_option(P::OPTIONS[i], i as c_int, Some(callback::<P>));
        i += 1;
    }
    Table(table)
}
