//! Marks the plug-in as one that stays in the process, whatever the loader's order of unloading.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
