//! Form of the source: what each file says first, how long it is, where `unsafe` may stand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;
use std::process::Command;

/// The files that face C. Everything else is safe code.
const UNSAFE: [&str; 12] = [
    "plugins/slurm-lua/src/state.rs",
    "plugins/switch-lua/worker/src/setup.rs",
    "spank-rs/src/export.rs",
    "spank-rs/src/ffi.rs",
    "spank-rs/src/ffi/items.rs",
    "spank-rs/src/ffi/log.rs",
    "spank-rs/src/ffi/options.rs",
    "spank-rs/src/ffi/slurm.rs",
    "spank-rs/src/rt.rs",
    "spank-rs/src/rt/options.rs",
    "spank-sys/src/libslurm.rs",
    "tests/cluster/src/process.rs",
];

fn sources() -> Vec<(String, String)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let listed = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard", "*.rs"])
        .current_dir(root)
        .output()
        .unwrap();
    let names = String::from_utf8(listed.stdout).unwrap();
    let sources: Vec<(String, String)> = names
        .lines()
        .filter(|name| !name.contains("/bindings/"))
        .filter_map(|name| {
            Some((name.to_owned(), std::fs::read_to_string(Path::new(root).join(name)).ok()?))
        })
        .collect();
    assert!(sources.len() > 50, "git lists {} sources", sources.len());
    sources
}

#[test]
fn every_file_says_first_what_it_is_for() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not begin with a //! sentence");
    }
}

#[test]
fn no_file_is_longer_than_four_hundred_lines() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(lines <= 400, "{name} has {lines} lines");
    }
}

#[test]
fn unsafe_stands_only_in_files_that_face_c() {
    for (name, text) in sources() {
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let unsafe_code = code.clone().any(|line| {
            ["unsafe {", "unsafe fn", "unsafe extern", "unsafe impl"]
                .iter()
                .any(|w| line.contains(w))
        });
        let allowed = UNSAFE.contains(&name.as_str()) || name == "tests/tidy.rs";
        assert!(allowed || !unsafe_code, "unsafe in {name}");
    }
}

#[test]
fn each_unsafe_file_exists() {
    for name in UNSAFE {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(name).exists(), "{name}");
    }
}
