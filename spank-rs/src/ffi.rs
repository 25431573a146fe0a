//! The calls into Slurm: each `unsafe` call of spank.h stands here, once.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::ptr;

use spank_sys::libslurm as slurm;
use spank_sys::{ESPANK_SUCCESS, spank_err_t, spank_item_t, spank_t};

use crate::error::{Code, Error, Result};
use crate::handle::context::Which;

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

/// A job's record as libslurm gave it; the strings are copied and freed here.
pub struct Record {
    pub job_id: u32,
    pub restart_count: u32,
    pub ended: bool,
    pub het_job_id: u32,
    pub start_time: i64,
    pub sluid: u64,
    pub network: Option<Vec<u8>>,
    pub partition: Option<Vec<u8>>,
}

fn copy(text: *const c_char) -> Option<Vec<u8>> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the C file sets such a field to null or to a string from strdup.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec())
}

fn outcome(answer: c_int) -> Result<(), Code> {
    if answer == 0 { Ok(()) } else { Err(Code(u32::from_ne_bytes(answer.to_ne_bytes()))) }
}

pub fn load_job(job_id: u32) -> Result<Record, Code> {
    let mut record = slurm::JobRecord {
        job_id: 0,
        restart_count: 0,
        ended: 0,
        het_job_id: 0,
        start_time: 0,
        sluid: 0,
        network: ptr::null_mut(),
        partition: ptr::null_mut(),
    };
    // SAFETY: `record` is a structure of the layout that c/libslurm.h has (ABI test).
    outcome(unsafe { slurm::spank_libslurm_load_job(job_id, &raw mut record) })?;
    let copied = Record {
        job_id: record.job_id,
        restart_count: record.restart_count,
        ended: record.ended != 0,
        het_job_id: record.het_job_id,
        start_time: record.start_time,
        sluid: record.sluid,
        network: copy(record.network),
        partition: copy(record.partition),
    };
    // SAFETY: filled by the call above, and freed once.
    unsafe { slurm::spank_libslurm_free_job(&raw mut record) };
    Ok(copied)
}

pub fn kill_step(job_id: u32, step_id: u32, signal: u16) -> Result<(), Code> {
    // SAFETY: takes numbers only.
    outcome(unsafe { slurm::spank_libslurm_kill_step(job_id, step_id, signal) })
}

pub fn kill_het_step(leader: u32, step_id: u32, signal: u16) -> Result<(), Code> {
    // SAFETY: takes numbers only.
    outcome(unsafe { slurm::spank_libslurm_kill_het_step(leader, step_id, signal) })
}

pub fn drain_node(node: &CString, reason: &CString) -> Result<(), Code> {
    // SAFETY: both strings are NUL-terminated, and the C file copies them.
    outcome(unsafe { slurm::spank_libslurm_drain_node(node.as_ptr(), reason.as_ptr()) })
}

/// `slurm_init`, which a `job_script` process needs before its first call (without it libslurm
/// crashes there, measured on 26.05.3). Once per process.
pub fn init_libslurm() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: reads slurm.conf by its default rule; called once, by the `Once`.
    ONCE.call_once(|| unsafe { slurm::spank_libslurm_init() });
}
