//! What a hook gets: a handle typed by hook and context, with the calls that Slurm answers there.
#![forbid(unsafe_code)]

pub mod caps;
pub mod context;
mod items;
mod options;
pub mod phase;

use std::marker::PhantomData;
use std::sync::Mutex;

use crate::error::Result;
use crate::ffi::Raw;
use crate::hook::Args;
use crate::rt::Options;

/// The handle of hook `P` in context `C`.
///
/// It cannot outlive the hook, leaves its thread nor be made by a plug-in: Slurm's own handle is an
/// object on its stack (spank.c, `_do_call_stack`).
pub struct Handle<'h, P, C> {
    pub(crate) raw: Raw<'h>,
    args: &'h Args,
    options: &'h Mutex<Options>,
    mark: PhantomData<(P, C, *mut ())>,
}

impl<'h, P, C> Handle<'h, P, C> {
    pub(crate) fn new(raw: Raw<'h>, args: &'h Args, options: &'h Mutex<Options>) -> Self {
        Handle { raw, args, options, mark: PhantomData }
    }

    /// The arguments of the plugstack.conf line.
    pub fn args(&self) -> &'h Args {
        self.args
    }

    /// The version of the Slurm that runs, such as `22.05.8`.
    ///
    /// # Errors
    /// If Slurm does not say (never measured).
    pub fn version(&self) -> Result<String> {
        self.raw.text(spank_sys::S_SLURM_VERSION, "S_SLURM_VERSION").map(Option::unwrap_or_default)
    }
}

/// A handle sorted by the context that the hook runs in.
pub enum In<'h, P> {
    /// srun.
    Local(Handle<'h, P, context::Local>),
    /// slurmstepd.
    Remote(Handle<'h, P, context::Remote>),
    /// salloc, sbatch, scrontab.
    Allocator(Handle<'h, P, context::Allocator>),
    /// slurmd.
    Slurmd(Handle<'h, P, context::Slurmd>),
    /// The process that runs prolog and epilog hooks.
    JobScript(Handle<'h, P, context::JobScript>),
}

impl<'h, P> Handle<'h, P, context::Any> {
    /// Sorts by context. The runtime calls no hook in a context that Slurm cannot name.
    pub fn split(self) -> In<'h, P> {
        let Handle { raw, args, options, .. } = self;
        match raw.context() {
            context::Which::Local => In::Local(Handle::new(raw, args, options)),
            context::Which::Remote => In::Remote(Handle::new(raw, args, options)),
            context::Which::Allocator => In::Allocator(Handle::new(raw, args, options)),
            context::Which::Slurmd => In::Slurmd(Handle::new(raw, args, options)),
            context::Which::JobScript => In::JobScript(Handle::new(raw, args, options)),
        }
    }
}
