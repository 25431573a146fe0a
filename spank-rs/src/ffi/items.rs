//! Items whose C type is not a plain number or string.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use libc::gid_t;
use spank_sys::{spank_get_item, spank_item_t};

use super::{Raw, check, refused};
use crate::error::Result;

/// Copies a NULL-terminated array of strings.
///
/// # Safety
/// `array` is null or leads to pointers to NUL-terminated strings, the last one null.
unsafe fn strings(array: *mut *mut c_char, most: usize) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    if array.is_null() {
        return list;
    }
    for i in 0..most {
        // SAFETY: the caller promises pointers up to and with the null one.
        let text = unsafe { *array.add(i) };
        if text.is_null() {
            break;
        }
        // SAFETY: not null, so one of the caller's strings.
        list.push(unsafe { CStr::from_ptr(text) }.to_bytes().to_vec());
    }
    list
}

impl Raw<'_> {
    /// An item whose C type is `uint16_t`.
    pub(crate) fn short(&self, item: spank_item_t, name: &'static str) -> Result<u16> {
        let mut value: u16 = 0;
        // SAFETY: the handle is live; spank.h gives `uint16_t *` for this item.
        let answer = unsafe { spank_get_item(self.handle, item, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }

    /// An item whose C type is `uint64_t`.
    pub(crate) fn wide(&self, item: spank_item_t, name: &'static str) -> Result<u64> {
        let mut value: u64 = 0;
        // SAFETY: the handle is live; spank.h gives `uint64_t *` for these items since 17.02.
        let answer = unsafe { spank_get_item(self.handle, item, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }

    /// `S_JOB_ARGV`.
    pub(crate) fn argv(&self) -> Result<Vec<Vec<u8>>> {
        let mut count: c_int = 0;
        let mut array: *mut *mut c_char = ptr::null_mut();
        // SAFETY: the handle is live; spank.h gives `int *, char ***` for this item.
        let answer = unsafe {
            spank_get_item(self.handle, spank_sys::S_JOB_ARGV, &raw mut count, &raw mut array)
        };
        check(answer).map_err(|code| refused("S_JOB_ARGV", code))?;
        // SAFETY: Slurm answered success with its array of `count` strings, which lives in this hook.
        Ok(unsafe { strings(array, usize::try_from(count).unwrap_or(0)) })
    }

    /// `S_JOB_ENV`; srun answers success with a null pointer.
    pub(crate) fn environment(&self) -> Result<Vec<Vec<u8>>> {
        let mut array: *mut *mut c_char = ptr::null_mut();
        // SAFETY: the handle is live; spank.h gives `char ***` for this item.
        let answer = unsafe { spank_get_item(self.handle, spank_sys::S_JOB_ENV, &raw mut array) };
        check(answer).map_err(|code| refused("S_JOB_ENV", code))?;
        // SAFETY: Slurm answered success with its NULL-terminated array (env.c), copied before any
        // call that could change it.
        Ok(unsafe { strings(array, usize::MAX) })
    }

    /// `S_JOB_SUPPLEMENTARY_GIDS`.
    pub(crate) fn groups(&self) -> Result<Vec<u32>> {
        let mut count: c_int = 0;
        let mut array: *mut gid_t = ptr::null_mut();
        let item = spank_sys::S_JOB_SUPPLEMENTARY_GIDS;
        // SAFETY: the handle is live; spank.h gives `gid_t **, int *` for this item.
        let answer = unsafe { spank_get_item(self.handle, item, &raw mut array, &raw mut count) };
        check(answer).map_err(|code| refused("S_JOB_SUPPLEMENTARY_GIDS", code))?;
        let count = usize::try_from(count).unwrap_or(0);
        if array.is_null() || count == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: Slurm answered success with an array of `count` ids, which lives in this hook.
        Ok(unsafe { std::slice::from_raw_parts(array, count) }.to_vec())
    }

    /// A task's number by its pid.
    pub(crate) fn of_pid(&self, item: spank_item_t, name: &'static str, pid: i32) -> Result<u32> {
        let mut value: u32 = 0;
        // SAFETY: the handle is live; spank.h gives `pid_t, uint32_t *` for these items.
        let answer = unsafe { spank_get_item(self.handle, item, pid, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }

    /// A task's number by its other number.
    pub(crate) fn of_id(&self, item: spank_item_t, name: &'static str, id: u32) -> Result<u32> {
        let mut value: u32 = 0;
        // SAFETY: the handle is live; spank.h gives `uint32_t, uint32_t *` for these items.
        let answer = unsafe { spank_get_item(self.handle, item, id, &raw mut value) };
        check(answer).map(|()| value).map_err(|code| refused(name, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs under Miri, too.
    #[test]
    fn an_array_of_strings_ends_at_its_null_or_its_count() {
        let mut one = *b"one\0";
        let mut two = *b"\xff\0";
        let mut array = [one.as_mut_ptr().cast(), two.as_mut_ptr().cast(), ptr::null_mut()];
        // SAFETY: two strings and a null, all of which outlive the call.
        let all = unsafe { strings(array.as_mut_ptr(), usize::MAX) };
        assert_eq!(all, [b"one".to_vec(), b"\xff".to_vec()]);
        // SAFETY: as above.
        assert_eq!(unsafe { strings(array.as_mut_ptr(), 1) }.len(), 1);
        // SAFETY: null is allowed.
        assert!(unsafe { strings(ptr::null_mut(), 5) }.is_empty());
    }
}
