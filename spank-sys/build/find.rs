//! Finds the folder that holds Slurm's headers: environment, then pkg-config, then /usr/include.

use std::path::{Path, PathBuf};

use crate::version::{self, Version};

/// Where the headers are.
pub enum Headers {
    /// In `include`, with `slurm/slurm_version.h` read from there.
    Installed { include: PathBuf, header: PathBuf },
    /// Nowhere, and the caller named the release: bindings from the source, no libslurm calls.
    None { version: Version },
}

/// Reads an environment variable and tells cargo that the build depends on it.
pub fn variable(name: &str) -> Option<String> {
    println!("cargo:rerun-if-env-changed={name}");
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Looks for the headers in the order that the README documents.
pub fn headers() -> Result<Headers, String> {
    let named = variable("SPANK_SLURM_VERSION");
    let include = variable("SLURM_INCLUDE_DIR").map(PathBuf::from);
    let prefix = variable("SLURM_DIR").map(PathBuf::from);
    if let Some(text) = named {
        let version = version::parse(&text).ok_or_else(|| {
            format!("SPANK_SLURM_VERSION={text:?} is not a release: write it as 22.05.8")
        })?;
        return Ok(Headers::None { version });
    }
    if variable("DOCS_RS").is_some() {
        return Ok(Headers::None { version: version::DOCUMENTED });
    }
    if let Some(folder) = include {
        return installed("SLURM_INCLUDE_DIR", folder);
    }
    if let Some(folder) = prefix {
        return installed("SLURM_DIR", folder.join("include"));
    }
    let mut candidates = Vec::new();
    if let Ok(library) = pkg_config::Config::new().cargo_metadata(false).probe("slurm") {
        candidates.extend(library.include_paths);
    }
    candidates.push(PathBuf::from("/usr/include"));
    candidates.push(PathBuf::from("/usr/local/include"));
    for folder in &candidates {
        if let Some(header) = version_header(folder) {
            return Ok(Headers::Installed { include: folder.clone(), header });
        }
    }
    Err(missing(&candidates))
}

fn installed(name: &str, folder: PathBuf) -> Result<Headers, String> {
    match version_header(&folder) {
        Some(header) => Ok(Headers::Installed { include: folder, header }),
        None => Err(format!(
            "{name} leads to {}, which has no slurm/spank.h and slurm/slurm_version.h: \
             name the folder above `slurm/`",
            folder.display()
        )),
    }
}

fn version_header(folder: &Path) -> Option<PathBuf> {
    let header = folder.join("slurm/slurm_version.h");
    (header.is_file() && folder.join("slurm/spank.h").is_file()).then_some(header)
}

fn missing(candidates: &[PathBuf]) -> String {
    let looked: Vec<String> = candidates.iter().map(|p| p.display().to_string()).collect();
    format!(
        "Slurm's headers (slurm/spank.h, slurm/slurm.h) were not found in {}.\n\
         Install them: `apt-get install libslurm-dev` on Debian and Ubuntu, \
         `dnf install slurm-devel` on the RPM systems;\n\
         or set SLURM_INCLUDE_DIR to the folder above `slurm/`, or SLURM_DIR to Slurm's prefix;\n\
         or, to build without them and without calls into libslurm, name the release: \
         SPANK_SLURM_VERSION=22.05.8",
        looked.join(", ")
    )
}
