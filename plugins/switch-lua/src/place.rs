//! Where things are: the node's name, the script, the worker.
//!
//! Environment variables are read from the daemon's own environment, which slurmd makes: a user's
//! variables are in the job's environment, which is another thing.

use std::path::PathBuf;

use switch_lua_core::settings::Settings;

/// Where slurm.conf is if the daemon does not say (slurmd always does, measured on 22.05).
const SLURM_CONF: &str = "/etc/slurm/slurm.conf";

/// The worker's file name, beside the plug-in, as it is installed: with the version, since a running
/// slurmstepd keeps the plug-in it loaded while a newer one is installed.
const WORKER: &str = concat!("switch-lua-worker-", env!("CARGO_PKG_VERSION"));

/// The worker's file name in a build.
const BUILT: &str = "switch-lua-worker";

/// The node's name in slurm.conf: `SLURMD_NODENAME`, which slurmstepd puts into its environment
/// before it loads plug-ins, and slurmd into the epilog's.
pub fn node() -> Result<String, String> {
    std::env::var("SLURMD_NODENAME")
        .map_err(|_| "Slurm does not say on which node this is (SLURMD_NODENAME)".to_owned())
}

/// The path of slurm.conf: slurmd sets `SLURM_CONF` for slurmstepd and for the epilog.
pub fn slurm_conf() -> PathBuf {
    std::env::var_os("SLURM_CONF").map_or_else(|| SLURM_CONF.into(), PathBuf::from)
}

/// The script of this line.
pub fn script(settings: &Settings) -> PathBuf {
    settings.script.clone().unwrap_or_else(|| slurm_conf().with_file_name("switch.lua"))
}

/// The worker, which is installed beside the plug-in.
pub fn worker() -> Result<PathBuf, String> {
    let plugin = spank::plugin_file().ok_or("the loader does not say where the plug-in lies")?;
    // Slurm passes the path it found, which can be a link into another folder.
    let plugin = plugin.canonicalize().unwrap_or(plugin);
    let installed = plugin.with_file_name(WORKER);
    let built = plugin.with_file_name(BUILT);
    Ok(if built.exists() && !installed.exists() { built } else { installed })
}
