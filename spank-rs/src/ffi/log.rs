//! Slurm's log functions.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

/// Which of Slurm's functions takes a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `slurm_error`.
    Error,
    /// `slurm_info`.
    Info,
    /// `slurm_verbose`.
    Verbose,
    /// `slurm_debug`.
    Debug,
    /// `slurm_debug2`.
    Debug2,
    /// `slurm_debug3`, the last one that spank.h declares.
    Debug3,
    /// `slurm_spank_log`: always shown, to the user where there is one, without a prefix.
    User,
}

/// Passes one line to Slurm. The text is an argument of `%s`: Slurm's formatter knows conversions
/// of its own, and a user's `%` must never be one.
pub fn log(function: Function, line: &CStr) {
    let format = c"%s".as_ptr();
    let text = line.as_ptr();
    // SAFETY: the format takes one string, and `line` is one; Slurm copies what it keeps.
    unsafe {
        match function {
            Function::Error => spank_sys::slurm_error(format, text),
            Function::Info => spank_sys::slurm_info(format, text),
            Function::Verbose => spank_sys::slurm_verbose(format, text),
            Function::Debug => spank_sys::slurm_debug(format, text),
            Function::Debug2 => spank_sys::slurm_debug2(format, text),
            Function::Debug3 => spank_sys::slurm_debug3(format, text),
            Function::User => spank_sys::slurm_spank_log(format, text),
        }
    }
}

/// The most talkative level that Slurm writes anywhere, as its own number (error is 2, info 3, and so on);
/// `None` if this release does not say.
pub fn threshold() -> Option<c_int> {
    type LogLevel = unsafe extern "C" fn() -> c_int;
    static FUNCTION: OnceLock<Option<LogLevel>> = OnceLock::new();
    let function = FUNCTION.get_or_init(|| {
        let found = super::symbol(c"get_log_level");
        // SAFETY: if there is such a function, it is `int get_log_level(void)` of log.h in each release
        // from 20.11 to 26.05.
        (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut _, LogLevel>(found) })
    });
    // SAFETY: takes nothing and reads Slurm's own settings.
    function.map(|function| unsafe { function() })
}
