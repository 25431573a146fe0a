//! What the built plug-ins export, what they need, and what they do not need.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds a plug-in with these flags and gives its file.
fn build(package: &str, flags: &[&str], folder: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let built = cargo(package, flags, &target);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join(format!("release/lib{}.so", package.replace('-', "_")))
}

fn cargo(package: &str, flags: &[&str], target: &Path) -> Output {
    Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", package, "--target-dir"])
        .arg(target)
        .args(flags)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
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

/// CASES A10: Slurm acts on the presence of a symbol.
#[test]
fn each_plugin_exports_its_hooks_and_nothing_else() {
    let switch_lua = [
        "exit",
        "init",
        "init_post_opt",
        "task_exit",
        "task_init",
        "task_init_privileged",
        "task_post_fork",
    ];
    let with_epilog = [&switch_lua[..], &["job_epilog"]].concat();
    let without: &[&str] = &["--no-default-features"];
    let cases: [(&str, &[&str], &str, &[&str]); 3] = [
        ("spank-switch-lua", &[], "with-epilog", &with_epilog),
        ("spank-switch-lua", without, "without-epilog", &switch_lua),
        ("spank-renice", &[], "with-epilog", &["init", "task_post_fork"]),
    ];
    for (package, flags, folder, hooks) in cases {
        let file = build(package, flags, folder);
        let mut expected: Vec<String> = DATA.iter().map(|name| (*name).to_owned()).collect();
        expected.extend(hooks.iter().map(|hook| format!("slurm_spank_{hook}")));
        expected.sort_unstable();
        assert_eq!(symbols("--defined-only", &file), expected);
        needs_slurm_and_libc_alone(&file);
    }
}

/// A panic would end the daemon that loaded the plug-in.
#[test]
fn a_plugin_cannot_be_built_with_panic_abort() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abort");
    let built = cargo("spank-renice", &["--config", "profile.release.panic=\"abort\""], &target);
    assert!(!built.status.success());
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(said.contains("cannot be built with panic = \"abort\""), "{said}");
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
    let file = build("spank-switch-lua", &[], "with-epilog");
    let flags = lines("readelf", &["-dW"], &file);
    assert!(flags.iter().any(|line| line.contains("NODELETE")), "{flags:#?}");
    assert!(flags.iter().any(|line| line.contains("NOW")), "{flags:#?}");
}
