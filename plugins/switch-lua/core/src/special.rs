//! Whether a script can ask for special steps, without running it.
//!
//! Every batch step of a cluster passes here. A script that does not name
//! `slurm_switch_setup_special_steps` costs it one small read, and neither a look-up nor Lua.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::wire::SPECIAL_STEPS;

/// Longer scripts are taken to name the function.
const LONGEST: u64 = 16 << 20;

/// Whether the script names the function. One that cannot be read does not: what is wrong with it
/// is said where it has to be loaded.
pub fn is_named_in(script: &Path) -> bool {
    let mut text = Vec::new();
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(script);
    let Ok(file) = opened else { return false };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return false;
    }
    if file.take(LONGEST).read_to_end(&mut text).is_err() {
        return false;
    }
    let name = SPECIAL_STEPS.as_bytes();
    text.len() as u64 == LONGEST || text.windows(name.len()).any(|window| window == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_script_that_names_the_function_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("switch.lua");
        assert!(!is_named_in(&path));
        assert!(!is_named_in(folder.path()));
        std::fs::write(&path, "function slurm_switch_step_init() end").unwrap();
        assert!(!is_named_in(&path));
        std::fs::write(&path, "function slurm_switch_setup_special_steps() return true end")
            .unwrap();
        assert!(is_named_in(&path));
    }
}
