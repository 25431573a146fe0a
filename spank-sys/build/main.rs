//! Finds Slurm's headers, makes the bindings and the libslurm object, and publishes the version.

#[path = "find.rs"]
mod find;
#[cfg(feature = "bindgen")]
#[path = "generate.rs"]
mod generate;
#[path = "version.rs"]
mod version;

use std::path::{Path, PathBuf};

use version::Version;

fn main() {
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=include/wrapper.h");
    println!("cargo:rerun-if-changed=c/libslurm.c");
    println!("cargo:rerun-if-changed=c/libslurm.h");
    if let Err(message) = build() {
        eprintln!("error: {message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(find::variable("OUT_DIR").ok_or("cargo sets no OUT_DIR")?);
    let version = match find::headers()? {
        find::Headers::Installed { include, header } => {
            let version = version::of_header(&header)?;
            bindings(&include, &out)?;
            libslurm(&include)?;
            println!("cargo:include={}", include.display());
            // For the ABI test, which compiles C against the same headers.
            println!("cargo:rustc-env=SPANK_SYS_INCLUDE={}", include.display());
            version
        }
        find::Headers::None { version } => {
            checked_in(&out)?;
            version
        }
    };
    publish(version, &out)
}

#[cfg(feature = "bindgen")]
fn bindings(include: &Path, out: &Path) -> Result<(), String> {
    generate::bindings(include, &out.join("bindings.rs"))
}

#[cfg(not(feature = "bindgen"))]
fn bindings(_include: &Path, out: &Path) -> Result<(), String> {
    checked_in(out)
}

/// Uses the bindings kept in the source: spank.h has had the same shape since 21.08.
fn checked_in(out: &Path) -> Result<(), String> {
    println!("cargo:rerun-if-changed=src/bindings/spank.rs");
    let source = Path::new("src/bindings/spank.rs");
    std::fs::copy(source, out.join("bindings.rs"))
        .map(drop)
        .map_err(|e| format!("cannot copy {}: {e}", source.display()))
}

/// Compiles the C file that makes every libslurm call. It is not linked here: the daemons that
/// load a plug-in bring libslurmfull with them.
fn libslurm(include: &Path) -> Result<(), String> {
    println!("cargo:rustc-cfg=libslurm");
    cc::Build::new()
        .file("c/libslurm.c")
        .include(include)
        .include("c")
        .warnings(true)
        .flag_if_supported("-fvisibility=hidden")
        .try_compile("spank_libslurm")
        .map_err(|e| format!("the C file for libslurm does not compile: {e}"))
}

fn publish(version: Version, out: &Path) -> Result<(), String> {
    println!("cargo:rustc-check-cfg=cfg(libslurm)");
    for name in version::ALL {
        println!("cargo:rustc-check-cfg=cfg({name})");
    }
    for name in version.cfgs() {
        println!("cargo:rustc-cfg={name}");
    }
    println!("cargo:version={version}");
    println!("cargo:version_number={}", version.number());
    let text = format!(
        "/// The release of Slurm this build is for, as `SLURM_VERSION_NUMBER` of slurm_version.h.\n\
         pub const SLURM_VERSION_NUMBER: u32 = {:#08x};\n\
         /// The same release as text, such as `22.05.8`.\n\
         pub const SLURM_VERSION: &str = \"{version}\";\n",
        version.number()
    );
    std::fs::write(out.join("version.rs"), text)
        .map_err(|e| format!("cannot write version.rs: {e}"))
}
