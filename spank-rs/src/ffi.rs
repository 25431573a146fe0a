//! The calls into Slurm: each `unsafe` call of spank.h stands here or below, once.

mod items;
mod log;
mod options;
mod slurm;

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use spank_sys::{ESPANK_SUCCESS, spank_err_t, spank_item_t, spank_t};

use crate::error::{Code, Error, Result};
use crate::handle::context::Which;
pub use log::{Function, log, threshold};
pub use options::{c_option, optional};
pub use slurm::{drain_node, init_libslurm, kill_het_step, kill_step, load_job};

/// Slurm's handle, for as long as the hook runs.
pub struct Raw<'h> {
    handle: spank_t,
    context: Which,
    life: PhantomData<&'h mut ()>,
}

fn check(answer: spank_err_t) -> Result<(), Code> {
    if answer == ESPANK_SUCCESS { Ok(()) } else { Err(Code(answer)) }
}

impl Raw<'_> {
    /// Takes the handle of a hook.
    ///
    /// # Safety
    /// `handle` is the one Slurm passed to the hook that runs, and the value does not outlive it.
    pub(crate) unsafe fn new(handle: spank_t, context: Which) -> Self {
        Raw { handle, context, life: PhantomData }
    }

    pub(crate) fn context(&self) -> Which {
        self.context
    }

    /// An item whose C type is `uint32_t`, `uid_t` or `gid_t`.
    pub(crate) fn number(&self, item: spank_item_t, name: &'static str) -> Result<u32> {
        let mut value: u32 = 0;
        // SAFETY: the handle is live (type invariant); spank.h gives `uint32_t *` (or an id type of
        // the same size) as the one argument of each item this is called with.
        let answer = unsafe { spank_sys::spank_get_item(self.handle, item, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }

    /// An item whose C type is `int` or `pid_t`.
    pub(crate) fn signed(&self, item: spank_item_t, name: &'static str) -> Result<i32> {
        let mut value: c_int = 0;
        // SAFETY: as in `number`; spank.h gives `int *` or `pid_t *` for these items.
        let answer = unsafe { spank_sys::spank_get_item(self.handle, item, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }

    /// An item whose C type is `char *`; Slurm may answer success with a null pointer.
    pub(crate) fn text(&self, item: spank_item_t, name: &'static str) -> Result<Option<String>> {
        let mut value: *mut c_char = ptr::null_mut();
        // SAFETY: as in `number`; spank.h gives `char **` for these items.
        let answer = unsafe { spank_sys::spank_get_item(self.handle, item, &raw mut value) };
        check(answer).map_err(|code| refused(name, code))?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: Slurm answered success, so the pointer leads to a string that lives at least as
        // long as this hook; it is copied here.
        let text = unsafe { CStr::from_ptr(value) };
        Ok(Some(text.to_string_lossy().into_owned()))
    }

    /// `spank_getenv` with a buffer of `size` bytes.
    pub(crate) fn getenv(&self, name: &CStr, size: usize) -> Result<Vec<u8>, Code> {
        let mut buffer = vec![0u8; size];
        let length = c_int::try_from(size).map_err(|_| Code::BAD_ARG)?;
        // SAFETY: the handle is live; the buffer has `length` bytes, and Slurm writes at most that
        // many, the closing NUL included (spank.c, `spank_getenv`).
        let answer = unsafe {
            spank_sys::spank_getenv(
                self.handle,
                name.as_ptr(),
                buffer.as_mut_ptr().cast::<c_char>(),
                length,
            )
        };
        check(answer)?;
        let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
        buffer.truncate(end);
        Ok(buffer)
    }

    pub(crate) fn setenv(&self, name: &CStr, value: &CStr, overwrite: bool) -> Result<(), Code> {
        // SAFETY: the handle is live; both strings are NUL-terminated and copied by Slurm.
        check(unsafe {
            spank_sys::spank_setenv(
                self.handle,
                name.as_ptr(),
                value.as_ptr(),
                c_int::from(overwrite),
            )
        })
    }

    pub(crate) fn unsetenv(&self, name: &CStr) -> Result<(), Code> {
        // SAFETY: as in `setenv`.
        check(unsafe { spank_sys::spank_unsetenv(self.handle, name.as_ptr()) })
    }
}

fn refused(item: &'static str, code: Code) -> Error {
    Error::Host { call: "spank_get_item", what: item.into(), code }
}

/// The context of the running hook; `None` where Slurm has none.
pub fn context() -> Option<Which> {
    // SAFETY: takes no argument and only reads a variable of Slurm's (spank.c, `spank_context`).
    Which::of(unsafe { spank_sys::spank_context() })
}

/// Slurm's text for an error number; the number itself where it has none.
pub fn strerror(code: Code) -> String {
    // SAFETY: takes any number; answers a static string, or null.
    let text = unsafe { spank_sys::spank_strerror(code.0) };
    if text.is_null() {
        return format!("Slurm error {}", code.0);
    }
    // SAFETY: not null, so a NUL-terminated static string of Slurm's.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The path of the `.so` that holds this code, as the loader knows it.
fn own_path() -> Option<&'static CStr> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `info` is a writable Dl_info, and any address may be asked about.
    let found = unsafe { libc::dladdr(own_path as *const c_void, info.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: dladdr answered non-zero and has filled the structure.
    let file = unsafe { info.assume_init() }.dli_fname;
    if file.is_null() {
        return None;
    }
    // SAFETY: the loader's own string, which lives as long as the object, and that is as long as
    // this code.
    Some(unsafe { CStr::from_ptr(file) })
}

/// The file of the plug-in.
pub fn own_file() -> Option<PathBuf> {
    own_path().map(|path| PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

/// Keeps this `.so` in the process after Slurm's dlclose, which would unmap code that destructors
/// of other threads may still want to run.
pub fn stay_loaded() {
    if let Some(path) = own_path() {
        // SAFETY: a path of the loader's; NOLOAD opens nothing new, it only marks the object as one
        // that stays. The handle is kept open on purpose.
        let _kept = unsafe {
            libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE)
        };
    }
}

/// A copy of the arguments of a plugstack.conf line.
///
/// # Safety
/// `av` is null, or leads to `ac` pointers to NUL-terminated strings.
pub unsafe fn arguments(ac: c_int, av: *mut *mut c_char) -> Vec<Vec<u8>> {
    let count = usize::try_from(ac).unwrap_or(0);
    if av.is_null() {
        return Vec::new();
    }
    (0..count)
        .filter_map(|i| {
            // SAFETY: the caller promises `ac` pointers at `av`.
            let argument = unsafe { *av.add(i) };
            if argument.is_null() {
                return None;
            }
            // SAFETY: not null, so one of the caller's NUL-terminated strings.
            Some(unsafe { CStr::from_ptr(argument) }.to_bytes().to_vec())
        })
        .collect()
}

/// A function that not every release has, by name; null if this one has it not.
fn symbol(name: &CStr) -> *mut c_void {
    // SAFETY: a NUL-terminated name; looks in all objects of the process.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Whether the running Slurm knows a hook, or a variable of that kind.
pub fn symbol_supported(name: &CStr) -> bool {
    // SAFETY: a NUL-terminated name, which Slurm compares with its list.
    unsafe { spank_sys::spank_symbol_supported(name.as_ptr()) == 1 }
}
