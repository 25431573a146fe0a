//! Gives this crate's own tests stand-ins for Slurm's functions, which exist only in its processes,
//! and turns the tables in `data/` into Rust.

#[path = "build/table.rs"]
mod table;

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=data");
    println!("cargo:rerun-if-changed=tests/stubs.c");
    let stubs = cc::Build::new().file("tests/stubs.c").cargo_metadata(false).try_compile("stubs");
    if let (Ok(()), Ok(out)) = (stubs, std::env::var("OUT_DIR")) {
        // A link argument reaches the targets of this package alone: its tests, never a plug-in.
        println!("cargo:rustc-link-arg={out}/libstubs.a");
    }
    if let Err(message) = tables() {
        eprintln!("error: {message}");
        std::process::exit(1);
    }
}

fn tables() -> Result<(), String> {
    let read = |file: &str| std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"));
    let rust = table::generate(&read(table::DOCUMENTED)?, &read(table::OBSERVED)?)?;
    let out = std::env::var_os("OUT_DIR").ok_or("cargo sets no OUT_DIR")?;
    let file = Path::new(&out).join("table.rs");
    std::fs::write(&file, rust).map_err(|e| format!("cannot write {}: {e}", file.display()))
}
