//! What a started process gets before its program runs: session, umask, death signal, closed files.
//!
//! The only file of the crate with unsafe code.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the command the leader of a session of its own, without inherited files.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: `setup` only makes system calls and allocates nothing, as `pre_exec` demands of code
    // between fork and exec.
    unsafe { command.pre_exec(|| setup(None)) };
}

/// Like [`detach`], and the kernel kills the process when the thread that starts it ends.
///
/// A change of credentials clears that signal (prctl(2)), so it is set after the one that `Command`
/// makes; the daemons themselves stay who they are.
pub(crate) fn detach_until_death(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: as in `detach`.
    unsafe { command.pre_exec(move || setup(Some(parent))) };
}

fn setup(parent: Option<u32>) -> io::Result<()> {
    // SAFETY: setsid has no arguments; a fresh child is no group leader, so the call can't fail.
    unsafe { libc::setsid() };
    // SAFETY: umask takes a number and always succeeds; jobs inherit it, so it is not the test's.
    unsafe { libc::umask(0o022) };
    if let Some(parent) = parent {
        // SAFETY: PR_SET_PDEATHSIG takes a signal number and no pointer.
        check(i64::from(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }))?;
        // SAFETY: getppid has no arguments.
        let now = unsafe { libc::getppid() };
        if u32::try_from(now) != Ok(parent) {
            // The parent died before the signal was set.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    // Closed on exec instead of at once: the standard library still reports errors through a file
    // of its own.
    // SAFETY: close_range takes numbers only; it marks files of this child and closes none.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    check(result)
}

fn check(result: i64) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
