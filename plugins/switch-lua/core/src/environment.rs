//! Which variables of step_init's table may reach the step.

/// Why a variable is not set; `None` if it may be.
///
/// Slurm sets its own `SLURM_*` variables after step_init, per task (`setup_env` in slurmstepd), and
/// reads others, such as SLURM_UMASK, from the step's environment: none of them is the script's.
pub fn refused(name: &[u8]) -> Option<&'static str> {
    let slurms = [&b"SLURM_"[..], b"SLURMD_", b"SLURMSTEPD_", b"_SLURM_"];
    slurms
        .iter()
        .any(|prefix| name.starts_with(prefix))
        .then_some("SLURM_* variables are Slurm's own")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SW-225.
    #[test]
    fn slurms_own_variables_are_refused() {
        for name in [&b"SLURM_JOB_ID"[..], b"SLURM_UMASK", b"SLURM_X", b"SLURMD_NODENAME"] {
            assert!(refused(name).is_some());
        }
        for name in [&b"FOO"[..], b"SLURM", b"MY_SLURM_X", b"SPANK_X"] {
            assert!(refused(name).is_none());
        }
    }
}
