//! Raw bindings of `slurm/spank.h`, and the libslurm calls that the plug-ins make.
//!
//! Nothing is linked here: `spank_*` and `slurm_*` live in libslurmfull, which every Slurm program
//! that loads a plug-in has in its process. Programs that are not Slurm's have none of them.
#![allow(non_camel_case_types, non_upper_case_globals)]

/// What bindgen made of spank.h.
#[allow(missing_docs, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}
pub use bindings::*;

include!(concat!(env!("OUT_DIR"), "/version.rs"));

pub mod libslurm;

/// `NO_VAL` of slurm.h: a 32-bit value that was not given.
pub const NO_VAL: u32 = 0xffff_fffe;

/// The interactive step of an salloc (`SLURM_INTERACTIVE_STEP` of slurm.h).
pub const SLURM_INTERACTIVE_STEP: u32 = 0xffff_fffa;
/// The batch step (`SLURM_BATCH_SCRIPT` of slurm.h).
pub const SLURM_BATCH_SCRIPT: u32 = 0xffff_fffb;
/// The extern step (`SLURM_EXTERN_CONT` of slurm.h).
pub const SLURM_EXTERN_CONT: u32 = 0xffff_fffc;
/// A step that waits for its start (`SLURM_PENDING_STEP` of slurm.h).
pub const SLURM_PENDING_STEP: u32 = 0xffff_fffd;
