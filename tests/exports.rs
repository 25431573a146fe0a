//! What the built plug-in exports, what it needs, and what it does not need.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the plug-in with these flags and gives its file.
fn build(flags: &[&str], folder: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", "spank-switch-lua", "--target-dir"])
        .arg(&target)
        .args(flags)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("release/libspank_switch_lua.so")
}

fn lines(program: &str, args: &[&str], file: &Path) -> Vec<String> {
    let out = Command::new(program).args(args).arg(file).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn symbols(which: &str, file: &Path) -> Vec<String> {
    let mut names: Vec<String> = lines("nm", &["-D", which], file)
        .iter()
        // A weak symbol that nobody defines is no fault.
        .filter(|line| !line.contains(" w "))
        .map(|line| line.split_whitespace().last().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

const DATA: [&str; 4] = ["plugin_name", "plugin_type", "plugin_version", "spank_plugin_version"];
const HOOKS: [&str; 7] = [
    "slurm_spank_exit",
    "slurm_spank_init",
    "slurm_spank_init_post_opt",
    "slurm_spank_task_exit",
    "slurm_spank_task_init",
    "slurm_spank_task_init_privileged",
    "slurm_spank_task_post_fork",
];

/// CASES A10: Slurm acts on the presence of a symbol.
#[test]
fn the_plugin_exports_its_hooks_and_nothing_else() {
    for (flags, epilog) in [(&[][..], true), (&["--no-default-features"], false)] {
        let file = build(flags, if epilog { "with-epilog" } else { "without-epilog" });
        let mut expected: Vec<&str> = DATA.iter().chain(&HOOKS).copied().collect();
        if epilog {
            expected.push("slurm_spank_job_epilog");
        }
        expected.sort_unstable();
        assert_eq!(symbols("--defined-only", &file), expected);
        needs_slurm_and_libc_alone(&file);
    }
}

/// CASES A02, A03: and no Lua in any Slurm process.
fn needs_slurm_and_libc_alone(file: &Path) {
    let needed: Vec<String> = lines("readelf", &["-dW"], file)
        .iter()
        .filter(|line| line.contains("(NEEDED)"))
        .map(|line| line.split(['[', ']']).nth(1).unwrap().to_owned())
        .collect();
    for library in &needed {
        let known = ["libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
        assert!(known.contains(&library.as_str()), "{needed:?}");
    }
    for symbol in symbols("--undefined-only", file) {
        let (name, version) = symbol.split_once('@').unwrap_or((&symbol, ""));
        let slurms = name.starts_with("slurm_") || name.starts_with("spank_");
        let systems = version.starts_with("GLIBC_") || version.starts_with("GCC_");
        assert!(slurms || systems, "undefined: {symbol}");
    }
}

/// CASES A09: Slurm unloads plug-ins, and a destructor of another thread may come later.
#[test]
fn the_plugin_stays_in_the_process() {
    let file = build(&[], "with-epilog");
    let flags = lines("readelf", &["-dW"], &file);
    assert!(flags.iter().any(|line| line.contains("NODELETE")), "{flags:#?}");
    assert!(flags.iter().any(|line| line.contains("NOW")), "{flags:#?}");
}
