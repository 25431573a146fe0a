//! Hands the release of Slurm, which spank-sys has found, to the command's `--version`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Set by cargo from what the build script of spank-sys publishes.
    let release = std::env::var("DEP_SLURM_SPANK_VERSION").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo:rustc-env=SPANK_BUILT_FOR_SLURM={release}");
}
