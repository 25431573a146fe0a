//! Options, the job control environment, and the functions that newer releases have.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use spank_sys::{spank_err_t, spank_opt_cb_f, spank_option, spank_t};

use super::{Raw, check, symbol};
use crate::error::Code;
use crate::option::{HasArg, Opt};

/// The C structure of an option. Slurm copies it and writes to none of its strings.
pub const fn c_option(opt: &Opt, val: c_int, cb: spank_opt_cb_f) -> spank_option {
    spank_option {
        name: opt.name.as_ptr().cast_mut(),
        arginfo: match opt.arginfo {
            Some(text) => text.as_ptr().cast_mut(),
            None => ptr::null_mut(),
        },
        usage: opt.usage.as_ptr().cast_mut(),
        has_arg: match opt.has_arg {
            HasArg::No => 0,
            HasArg::Required => 1,
            HasArg::Optional => 2,
        },
        val,
        cb,
    }
}

/// Copies an argument that Slurm passes.
///
/// # Safety
/// `text` is null or a NUL-terminated string.
pub unsafe fn optional(text: *const c_char) -> Option<Vec<u8>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, so the caller's string.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}

type Prepend = unsafe extern "C" fn(spank_t, c_int, *mut *const c_char) -> spank_err_t;

impl Raw<'_> {
    pub(crate) fn register(
        &self,
        opt: &Opt,
        val: c_int,
        callback: spank_opt_cb_f,
    ) -> Result<(), Code> {
        let mut option = c_option(opt, val, callback);
        // SAFETY: the handle is live, and Slurm copies the structure with its strings.
        check(unsafe { spank_sys::spank_option_register(self.handle, &raw mut option) })
    }

    /// Whether an option was given, and with what.
    pub(crate) fn getopt(&self, opt: &Opt) -> Result<Option<Option<Vec<u8>>>, Code> {
        let mut option = c_option(opt, 0, None);
        let mut argument: *mut c_char = ptr::null_mut();
        // SAFETY: the handle is live; Slurm reads the structure and sets the pointer or leaves it.
        let answer = unsafe {
            spank_sys::spank_option_getopt(self.handle, &raw mut option, &raw mut argument)
        };
        match check(answer) {
            // SAFETY: null or a string of Slurm's that lives in this hook.
            Ok(()) => Ok(Some(opt.argument_of(unsafe { optional(argument) }))),
            // Its answer for an option that was not given.
            Err(Code::ERROR) => Ok(None),
            Err(code) => Err(code),
        }
    }

    /// Whether this process has what the job control calls use: scrontab has not, and crashes in them.
    fn has_control_environment() -> bool {
        !symbol(c"spank_set_job_env").is_null()
    }

    pub(crate) fn control_getenv(&self, name: &CStr, size: usize) -> Result<Vec<u8>, Code> {
        if !Self::has_control_environment() {
            return Err(Code::NOT_AVAIL);
        }
        let mut buffer = vec![0u8; size];
        let length = c_int::try_from(size).map_err(|_| Code::BAD_ARG)?;
        // SAFETY: the handle is live; the buffer has `length` bytes; the function that the call looks
        // up exists in this process.
        check(unsafe {
            spank_sys::spank_job_control_getenv(
                self.handle,
                name.as_ptr(),
                buffer.as_mut_ptr().cast::<c_char>(),
                length,
            )
        })?;
        let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
        buffer.truncate(end);
        Ok(buffer)
    }

    pub(crate) fn control_setenv(
        &self,
        name: &CStr,
        value: &CStr,
        overwrite: bool,
    ) -> Result<(), Code> {
        if !Self::has_control_environment() {
            return Err(Code::NOT_AVAIL);
        }
        // SAFETY: the handle is live; both strings are copied; see `control_getenv`.
        check(unsafe {
            spank_sys::spank_job_control_setenv(
                self.handle,
                name.as_ptr(),
                value.as_ptr(),
                c_int::from(overwrite),
            )
        })
    }

    pub(crate) fn control_unsetenv(&self, name: &CStr) -> Result<(), Code> {
        if !Self::has_control_environment() {
            return Err(Code::NOT_AVAIL);
        }
        // SAFETY: as in `control_setenv`.
        check(unsafe { spank_sys::spank_job_control_unsetenv(self.handle, name.as_ptr()) })
    }

    /// `spank_prepend_task_argv` (23.11 and later); `None` if this Slurm has it not.
    pub(crate) fn prepend_argv(&self, words: &[CString]) -> Option<Result<(), Code>> {
        let found = symbol(c"spank_prepend_task_argv");
        if found.is_null() {
            return None;
        }
        // SAFETY: the prototype of spank.h in each release that has the function.
        let prepend = unsafe { std::mem::transmute::<*mut _, Prepend>(found) };
        let mut pointers: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);
        pointers.push(ptr::null());
        // SAFETY: the handle is live; `count` strings and a null, which Slurm copies.
        Some(check(unsafe { prepend(self.handle, count, pointers.as_mut_ptr()) }))
    }
}
