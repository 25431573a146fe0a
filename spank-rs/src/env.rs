//! The job's environment: no length limit on reading, and none of Slurm's silent losses on setting.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::ffi::CString;

use crate::error::{Code, Error, Result};
use crate::ffi::Raw;

/// The longest name: Slurm drops longer ones when it merges environments (env.c,
/// `env_array_merge`, 22.05 to 26.05).
pub const MAX_NAME: usize = 255;

/// Name, value, `=` and the closing NUL must stay under this: at 131072 bytes and more `spank_setenv`
/// sets nothing and reports success (spank.c tests `setenvf` for `< 0`, which answers `ENOMEM`).
pub const MAX_ENTRY: usize = 131_072;

/// Reading starts here and doubles up to `LARGEST`: Slurm does not say how long the value is.
const FIRST: usize = 1024;
/// Above what an environment entry can be that an exec would accept (128 KiB), with room to spare.
const LARGEST: usize = 8 << 20;

fn display(name: &[u8]) -> Cow<'static, str> {
    Cow::Owned(name.escape_ascii().to_string())
}

fn c_string(what: &[u8], bytes: &[u8]) -> Result<CString> {
    CString::new(bytes)
        .map_err(|_| Error::Value { what: display(what), reason: "holds a NUL byte" })
}

/// Checks a name as `spank_setenv` and `setenv(3)` would have to.
fn checked_name(name: &[u8]) -> Result<CString> {
    let refuse = |reason| Err(Error::Value { what: display(name), reason });
    if name.is_empty() {
        return refuse("an environment variable needs a name");
    }
    if name.contains(&b'=') {
        return refuse("a variable's name cannot hold `=`");
    }
    if name.len() > MAX_NAME {
        return refuse("longer than the 255 bytes that Slurm passes on");
    }
    c_string(name, name)
}

/// Calls with growing buffers until the value fits.
fn grow(
    call: &'static str,
    name: &[u8],
    read: impl Fn(&CString, usize) -> Result<Vec<u8>, Code>,
) -> Result<Option<Vec<u8>>> {
    let c_name = c_string(name, name)?;
    let mut size = FIRST;
    loop {
        match read(&c_name, size) {
            Ok(value) => return Ok(Some(value)),
            Err(Code::ENV_NOEXIST) => return Ok(None),
            Err(Code::NOSPACE) if size < LARGEST => size *= 2,
            Err(code) => return Err(Error::Host { call, what: display(name), code }),
        }
    }
}

pub fn get(raw: &Raw<'_>, name: &[u8]) -> Result<Option<Vec<u8>>> {
    grow("spank_getenv", name, |name, size| raw.getenv(name, size))
}

pub fn control_get(raw: &Raw<'_>, name: &[u8]) -> Result<Option<Vec<u8>>> {
    grow("spank_job_control_getenv", name, |name, size| raw.control_getenv(name, size))
}

pub fn control_set(raw: &Raw<'_>, name: &[u8], value: &[u8], overwrite: bool) -> Result<()> {
    let call = "spank_job_control_setenv";
    let c_name = checked_name(name)?;
    let c_value = c_string(name, value)?;
    raw.control_setenv(&c_name, &c_value, overwrite).map_err(|code| Error::Host {
        call,
        what: display(name),
        code,
    })
}

pub fn control_unset(raw: &Raw<'_>, name: &[u8]) -> Result<()> {
    let call = "spank_job_control_unsetenv";
    let c_name = checked_name(name)?;
    raw.control_unsetenv(&c_name).map_err(|code| Error::Host { call, what: display(name), code })
}

pub fn set(raw: &Raw<'_>, name: &[u8], value: &[u8], overwrite: bool) -> Result<()> {
    let c_name = checked_name(name)?;
    let c_value = c_string(name, value)?;
    if name.len() + value.len() + 2 >= MAX_ENTRY {
        let reason = "value too long: Slurm sets no variable of 128 KiB or more";
        return Err(Error::Value { what: display(name), reason });
    }
    raw.setenv(&c_name, &c_value, overwrite).map_err(|code| Error::Host {
        call: "spank_setenv",
        what: display(name),
        code,
    })
}

pub fn unset(raw: &Raw<'_>, name: &[u8]) -> Result<()> {
    let c_name = checked_name(name)?;
    raw.unsetenv(&c_name).map_err(|code| Error::Host {
        call: "spank_unsetenv",
        what: display(name),
        code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_slurm_would_drop_are_refused() {
        for bad in [&b""[..], b"A=B", b"A\0B", &[b'x'; 256]] {
            assert!(checked_name(bad).is_err(), "{}", display(bad));
        }
        assert!(checked_name(&[b'x'; 255]).is_ok());
    }
}
