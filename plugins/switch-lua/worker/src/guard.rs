//! The worker's guard: reports how the worker ended, and kills it when the plug-in is gone.
#![forbid(unsafe_code)]

use std::fs::File;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_current_process_group, waitpid};
use switch_lua_core::wire::Reply;

use crate::{Replies, setup};

/// Watches until the worker has ended.
///
/// `requests` is the socket that the worker reads; only its closing is watched here. The plug-in closes
/// it at a deadline, and the kernel does when slurmstepd dies: then all of the group ends, this process
/// included.
pub fn watch(worker: i32, requests: File, replies: &Replies) -> ! {
    std::thread::spawn(move || {
        loop {
            let closed = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
            let mut socket = [PollFd::new(&requests, PollFlags::RDHUP)];
            let polled = poll(&mut socket, None);
            let [socket] = &socket;
            if polled.is_ok() && socket.revents().intersects(closed) {
                let _ = kill_current_process_group(Signal::KILL);
            }
        }
    });
    let how = loop {
        match waitpid(Pid::from_raw(worker), WaitOptions::empty()) {
            Ok(Some((_, status))) => break describe(status),
            Err(rustix::io::Errno::INTR) | Ok(None) => {}
            Err(error) => break error.to_string(),
        }
    };
    replies.send(&Reply::Ended { how });
    setup::leave()
}

fn describe(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => format!("{status:?}"),
    }
}
