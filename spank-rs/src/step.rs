//! Step ids with Slurm's special steps by name.
#![forbid(unsafe_code)]

use std::fmt;

use spank_sys::{
    SLURM_BATCH_SCRIPT, SLURM_EXTERN_CONT, SLURM_INTERACTIVE_STEP, SLURM_PENDING_STEP,
};

/// Which step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum StepId {
    /// A step made by srun, by number.
    Normal(u32),
    /// The step of salloc's interactive shell.
    Interactive,
    /// The step of a batch script.
    Batch,
    /// The step that holds processes from outside (`PrologFlags=Contain`).
    Extern,
    /// A step that has no number yet.
    Pending,
}

impl StepId {
    /// Slurm's number for the step.
    pub fn number(self) -> u32 {
        match self {
            StepId::Normal(number) => number,
            StepId::Interactive => SLURM_INTERACTIVE_STEP,
            StepId::Batch => SLURM_BATCH_SCRIPT,
            StepId::Extern => SLURM_EXTERN_CONT,
            StepId::Pending => SLURM_PENDING_STEP,
        }
    }
}

impl From<u32> for StepId {
    fn from(number: u32) -> StepId {
        match number {
            SLURM_INTERACTIVE_STEP => StepId::Interactive,
            SLURM_BATCH_SCRIPT => StepId::Batch,
            SLURM_EXTERN_CONT => StepId::Extern,
            SLURM_PENDING_STEP => StepId::Pending,
            number => StepId::Normal(number),
        }
    }
}

/// As Slurm writes it after the job id: `0`, `batch`, `extern`, `interactive`.
impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepId::Normal(number) => write!(f, "{number}"),
            StepId::Interactive => f.write_str("interactive"),
            StepId::Batch => f.write_str("batch"),
            StepId::Extern => f.write_str("extern"),
            StepId::Pending => f.write_str("pending"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_steps_have_names_and_numbers() {
        for step in [StepId::Interactive, StepId::Batch, StepId::Extern, StepId::Pending] {
            assert_eq!(StepId::from(step.number()), step);
        }
        assert_eq!(StepId::from(4_294_967_291), StepId::Batch);
        assert_eq!(StepId::from(7).to_string(), "7");
    }
}
