//! spank-rs as a plug-in sees it on a real Slurm: the plug-in of `tests/probe` notes what each call
//! answers in each hook, fails and panics on order.

mod answers;
mod events;
mod lab;
mod options;
mod panics;
mod twice;

pub use lab::{Lab, Line, lab, renice, version};
