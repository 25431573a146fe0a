//! Gives this crate's own tests stand-ins for Slurm's functions, which exist only in its processes.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=tests/stubs.c");
    let stubs = cc::Build::new().file("tests/stubs.c").cargo_metadata(false).try_compile("stubs");
    if let (Ok(()), Ok(out)) = (stubs, std::env::var("OUT_DIR")) {
        // A link argument reaches the targets of this package alone: its tests, never a plug-in.
        println!("cargo:rustc-link-arg={out}/libstubs.a");
    }
}
