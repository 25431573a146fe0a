//! Makes the process what a script may safely run in: no inherited descriptors, signals as usual.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, fstat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};

/// Takes the socket away from standard input and output, and puts /dev/null there.
///
/// # Errors
/// If standard input is no socket: the worker was started by hand.
pub fn socket() -> io::Result<(File, File)> {
    if FileType::from_raw_mode(fstat(io::stdin())?.st_mode) != FileType::Socket {
        return Err(io::Error::other("standard input is no socket"));
    }
    as_root();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    // A core of a process of root would lie in / for everybody to find.
    let _ = setrlimit(Resource::Core, none);
    close_inherited();
    let away = |fd: &dyn AsFd| -> io::Result<OwnedFd> { Ok(fcntl_dupfd_cloexec(fd.as_fd(), 3)?) };
    let requests = away(&io::stdin())?;
    let replies = away(&io::stdout())?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok((requests.into(), replies.into()))
}

/// Which process this is after [`part`].
pub enum Part {
    /// The one that runs the script.
    Worker,
    /// The one that watches the worker, by its pid.
    Guard(i32),
}

/// Leaves the family of slurmstepd, and splits into guard and worker, in a session of their own.
///
/// # Errors
/// If a fork fails.
pub fn part() -> io::Result<Part> {
    if fork()? != 0 {
        leave();
    }
    // The new process leads no group yet, so this cannot fail.
    let _ = rustix::process::setsid();
    // Not before: until here a signal to slurmstepd's descendants could have hit.
    signals();
    match fork()? {
        0 => {
            // A guard that was killed by itself would leave nobody to keep the deadline.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            Ok(Part::Worker)
        }
        worker => Ok(Part::Guard(worker)),
    }
}

fn fork() -> io::Result<i32> {
    // SAFETY: the process has one thread, so the child may do whatever the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// Ends the process without running anything more of the script.
pub fn leave() -> ! {
    // SAFETY: takes a number and does not return; nothing of ours is left to be written.
    unsafe { libc::_exit(0) }
}

/// The plug-in has blocked all signals for the start, slurmstepd blocks some itself (SIGCHLD from 25.05
/// on), and Rust ignores SIGPIPE; a program that the script starts must find none of that.
fn signals() {
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset fills the set, which sigprocmask then reads; SIG_DFL is a valid handler.
    // One thread exists, and none of the calls has another effect.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        for signal in 1..32 {
            // SIGKILL and SIGSTOP refuse, which is fine.
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Takes off what slurmstepd has put on for the job's user: its umask, with which every file of the
/// script could be written by everybody, and its groups.
fn as_root() {
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    if rustix::process::geteuid().is_root() {
        // SAFETY: no groups, so no pointer is read. Without the privilege it fails and changes nothing.
        unsafe { libc::setgroups(0, std::ptr::null()) };
    }
}

/// Closes what slurmstepd left open for an exec: sockets of slurmd would otherwise live on in a
/// program that the script leaves running.
fn close_inherited() {
    // SAFETY: nothing in this process has opened a descriptor above 2 yet.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
    if closed == 0 {
        return;
    }
    // Kernels before 5.9.
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()))
        .filter(|fd| *fd > 2)
        .collect();
    for fd in open {
        // SAFETY: as above; the one that listed the folder is closed already, which is no error
        // that matters.
        unsafe { libc::close(fd) };
    }
}
