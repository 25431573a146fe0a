//! What a plug-in is, and one trait per SPANK hook.
#![forbid(unsafe_code)]

use std::ffi::CStr;

use crate::error::{Error, Result};
use crate::handle::{Handle, context, phase};
use crate::option::Opt;
use crate::rt::Dispatch;

/// A plug-in: its name, and how it is made from the arguments of its plugstack.conf line.
pub trait Plugin: Sized + Send + 'static {
    /// The name that Slurm shows and that the plug-in's options travel under.
    const NAME: &'static CStr;

    /// What hooks answer after [`new`](Plugin::new) failed or a hook panicked.
    const WHEN_BROKEN: WhenBroken = WhenBroken::FailTasks;

    /// The options it adds to srun, salloc and sbatch. A plug-in that has any lists `Init`.
    const OPTIONS: &'static [&'static Opt] = &[];

    /// Makes the plug-in, before the first hook of a process (which in prolog and epilog is not
    /// `init`).
    ///
    /// # Errors
    /// The runtime logs an error once; the hooks then answer as [`WHEN_BROKEN`](Self::WHEN_BROKEN)
    /// says.
    fn new(args: &Args) -> Result<Self>;
}

/// What the hooks of a plug-in answer once it cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBroken {
    /// Failure in `task_init_privileged` and `task_init`, success elsewhere: steps fail, and no node
    /// is drained in any release measured (the drain and fail table of SPANK(8)).
    FailTasks,
    /// Success everywhere: jobs run on as if the plug-in were not there.
    Ignore,
    /// Failure everywhere: in `init` of a batch step this drains the node, in slurmd it stops slurmd.
    Fail,
}

/// The arguments of a plugstack.conf line, in order; Slurm knows no quoting there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args(pub(crate) Vec<Vec<u8>>);

impl Args {
    /// The arguments as Slurm passed them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(Vec::as_slice)
    }

    /// Whether the line has no arguments.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the last `key=value` with this key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.0.iter().rev().find_map(|argument| {
            argument.strip_prefix(key.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
        })
    }

    /// The arguments as `key=value` pairs.
    ///
    /// # Errors
    /// At the first argument without `=`.
    pub fn pairs(&self) -> Result<Vec<(String, &[u8])>> {
        self.iter()
            .map(|argument| {
                let mut parts = argument.splitn(2, |byte| *byte == b'=');
                match (parts.next(), parts.next()) {
                    (Some(key), Some(value)) => {
                        Ok((String::from_utf8_lossy(key).into_owned(), value))
                    }
                    _ => Err(Error::Argument {
                        argument: String::from_utf8_lossy(argument).into_owned(),
                        reason: "not of the form key=value".into(),
                    }),
                }
            })
            .collect()
    }
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident $method:ident $context:ident $cx:ident ($($receiver:tt)*);)*) => {
        $(
            #[doc = concat!("The handle of [`", stringify!($hook), "`].")]
            pub type $cx<'h> = Handle<'h, phase::$hook, context::$context>;

            $(#[$doc])*
            pub trait $hook: Plugin {
                /// The hook.
                ///
                /// # Errors
                /// An error is logged once with plug-in and hook, and Slurm gets −1, which is a
                /// failure in every release (before 25.05 it ignores positive codes).
                fn $method($($receiver)* self, cx: $cx<'_>) -> Result<()>;
            }

            impl<T: $hook> Dispatch<T> for phase::$hook {
                type Context = context::$context;
                fn call(plugin: &mut T, cx: $cx<'_>) -> Result<()> {
                    plugin.$method(cx)
                }
            }
        )*

        /// Tells for a concrete type which hooks it implements; `plugin!` compares this with its
        /// list. The inherent constant hides the trait's where the hook is implemented.
        #[doc(hidden)]
        pub mod probe {
            /// The answer for a hook that is not implemented.
            pub trait Absent {
                /// Whether the type implements the hook.
                const IMPLEMENTED: bool = false;
            }
            $(
                #[doc = concat!("Whether a type implements `", stringify!($hook), "`.")]
                pub struct $hook<T>(core::marker::PhantomData<T>);
                impl<T> Absent for $hook<T> {}
                impl<T: super::$hook> $hook<T> {
                    /// It does.
                    pub const IMPLEMENTED: bool = true;
                }
            )*
        }

        /// Expands to one constant per hook: true where the list has it.
        #[doc(hidden)]
        #[macro_export]
        macro_rules! __each_hook {
            ($callback:ident, $plugin:ty, $list:tt) => {
                $($crate::$callback!($hook, $plugin, $list);)*
            };
        }
    };
}

hooks! {
    /// First hook of srun, salloc, sbatch, slurmd and slurmstepd. A failure in a batch step drains
    /// the node; in slurmd it stops slurmd.
    Init init Any InitCx (&mut);
    /// Before the prolog of a job, in a process of its own (one more per job and node for as long
    /// as the symbol exists). A failure drains the node.
    JobProlog job_prolog JobScript JobPrologCx (&mut);
    /// After the options are known. A failure in a batch step drains the node.
    InitPostOpt init_post_opt Any InitPostOptCx (&mut);
    /// In srun, when the job's options are complete and before the launch.
    LocalUserInit local_user_init Local LocalUserInitCx (&mut);
    /// In slurmstepd, with the user's effective id, before the tasks are forked. A failure in a
    /// batch step drains the node. No call to slurmctld may be made here.
    UserInit user_init Remote UserInitCx (&mut);
    /// In each task's process, still as root. A failure fails the step and drains nothing.
    /// Whatever is changed dies with the exec, hence `&self`.
    TaskInitPrivileged task_init_privileged Remote TaskInitPrivilegedCx (&);
    /// In each task's process, as the user, just before the exec. A failure fails the step and
    /// drains nothing. Whatever is changed dies with the exec, hence `&self`.
    TaskInit task_init Remote TaskInitCx (&);
    /// In slurmstepd, as root, for each task that was forked. In the extern step it runs once
    /// without a task.
    TaskPostFork task_post_fork Remote TaskPostForkCx (&mut);
    /// In slurmstepd, as root, for each task that ended.
    TaskExit task_exit Remote TaskExitCx (&mut);
    /// After the epilog of a job, in a process of its own (one more per job and node for as long as
    /// the symbol exists). A failure drains the node and never fails the job.
    JobEpilog job_epilog JobScript JobEpilogCx (&mut);
    /// When slurmd ends.
    SlurmdExit slurmd_exit Slurmd SlurmdExitCx (&mut);
    /// Last hook of srun, salloc, sbatch and slurmstepd. Its result is ignored, and it is skipped
    /// when a required plug-in failed in `init` or `init_post_opt`.
    Exit exit Any ExitCx (&mut);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(list: &[&str]) -> Args {
        Args(list.iter().map(|a| a.as_bytes().to_vec()).collect())
    }

    #[test]
    fn pairs_are_read_in_order_and_a_lone_word_is_named() {
        let line = args(&["a=1", "b=x=y", "a=2"]);
        assert_eq!(line.get("a"), Some(&b"2"[..]));
        assert_eq!(line.pairs().unwrap()[1], ("b".to_owned(), &b"x=y"[..]));
        let error = args(&["drian"]).pairs().unwrap_err().to_string();
        assert_eq!(error, "plugstack.conf argument \"drian\": not of the form key=value");
    }
}
