//! The command `spank` as a person runs it: what it prints, and its exit codes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder in /tmp that nobody else can write to.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Dir {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(format!("/tmp/spank-cli-{}-{number}", std::process::id()));
        DirBuilder::new().mode(0o755).create(&path).unwrap();
        Dir(path)
    }

    fn script(&self, text: &str) -> PathBuf {
        let path = self.0.join("switch.lua");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        path
    }

    /// Who these tests run as.
    fn uid(&self) -> u32 {
        fs::metadata(&self.0).unwrap().uid()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Output {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn spank(words: &[&str]) -> Output {
    let out = Command::new(env!("CARGO_BIN_EXE_spank")).args(words).output().unwrap();
    Output {
        code: out.status.code(),
        stdout: String::from_utf8(out.stdout).unwrap(),
        stderr: String::from_utf8(out.stderr).unwrap(),
    }
}

/// Checks one script, whoever owns it of those who can be asked for.
fn check(dir: &Dir, path: &Path) -> Output {
    let uid = dir.uid().to_string();
    spank(&["check", "--owner", &uid, path.to_str().unwrap()])
}

/// What is found in a script with this text, without the path before it.
fn findings(text: &str) -> (Option<i32>, Vec<String>) {
    let dir = Dir::new();
    let path = dir.script(text);
    let out = check(&dir, &path);
    assert_eq!(out.stderr, "");
    let start = format!("{}:", path.display());
    let lines = out.stdout.lines();
    let lines = lines.map(|line| line.strip_prefix(&start).unwrap().to_owned());
    (out.code, lines.collect())
}

/// SW-283, SW-287.
#[test]
fn the_example_is_fine_and_defines_every_function() {
    let (code, lines) = findings(include_str!("../plugins/switch-lua/switch.lua.example"));
    assert_eq!(code, Some(0), "{lines:?}");
    let defined = lines[0].strip_prefix(" fine; defines ").unwrap();
    assert_eq!(defined.split(", ").count(), 7, "{defined}");
}

#[test]
fn the_top_level_is_not_run() {
    let dir = Dir::new();
    let made = dir.0.join("made");
    let text = format!("io.open('{}', 'w'):close() error('no')", made.display());
    let path = dir.script(&text);
    assert_eq!(check(&dir, &path).code, Some(0));
    assert!(!made.exists());
    let help = spank(&["check", "--help"]);
    assert!(help.stdout.contains("Its top level is not run"));
}

#[test]
fn a_syntax_error_has_its_line() {
    let (code, lines) = findings("-- one\n-- two\nlocal x == 1\n");
    assert_eq!(code, Some(1));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("3: syntax error: "), "{lines:?}");
}

#[test]
fn a_misspelt_function_and_a_local_one_are_found() {
    let (code, lines) = findings(
        "function slurm_switch_step_preinti(step) end\n\
         local function slurm_switch_step_init(step) end\n\
         function slurm_switch_my_helper() end\n",
    );
    assert_eq!(code, Some(1));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].starts_with("1: ")
            && lines[0].ends_with("did you mean slurm_switch_step_preinit?")
    );
    assert!(lines[1].starts_with("2: ") && lines[1].ends_with("remove `local`"));
    assert!(lines[2].starts_with("3: slurm_switch_my_helper"));
}

#[test]
fn a_script_without_functions_gets_a_note() {
    let (code, lines) = findings("local x = 1\n");
    assert_eq!(code, Some(0));
    assert!(lines[0].starts_with(" note: defines none of the functions"));
    let (code, lines) = findings("_G['slurm_switch_' .. 'x'] = slurm_switch_step_init");
    assert_eq!(code, Some(0));
    assert!(lines[0].starts_with(" fine; where"), "{lines:?}");
}

#[test]
fn a_precompiled_script_is_refused() {
    let (code, lines) = findings("\x1bLua");
    assert_eq!(code, Some(1));
    assert_eq!(lines, [" is a precompiled chunk; install the source text"]);
}

/// The rest is checked all the same.
#[test]
fn a_script_that_others_can_write_is_refused() {
    let dir = Dir::new();
    let path = dir.script("x =");
    fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
    let out = check(&dir, &path);
    assert_eq!(out.code, Some(1));
    assert!(
        out.stdout.contains(" it has mode 0664, so that others can change it; chmod go-w it"),
        "{}",
        out.stdout
    );
    assert!(out.stdout.contains(":1: syntax error"), "{}", out.stdout);

    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(&dir.0, Permissions::from_mode(0o777)).unwrap();
    let out = check(&dir, &path);
    assert_eq!(out.code, Some(1));
    let place = format!(" {} has mode 0777", dir.0.display());
    assert!(out.stdout.contains(&place), "{}", out.stdout);
}

#[test]
fn a_script_of_somebody_else_is_refused_unless_allowed() {
    let dir = Dir::new();
    let path = dir.script("function slurm_switch_step_init() return 0 end\n");
    let path = path.to_str().unwrap();
    let mut uid = dir.uid();
    if uid == 0 {
        uid = 1234;
        chown(path, Some(uid), None).unwrap();
    }
    let out = spank(&["check", path]);
    assert_eq!(out.code, Some(1));
    let allow = format!("with --owner {uid}");
    assert!(
        out.stdout.contains("is owned by uid") && out.stdout.contains(&allow),
        "{}",
        out.stdout
    );
    let out = spank(&["check", "--owner", "1", "--owner", &uid.to_string(), path]);
    assert_eq!(out.code, Some(0), "{}", out.stdout);
}

#[test]
fn what_cannot_be_checked_is_2_and_the_others_are_checked() {
    let dir = Dir::new();
    let path = dir.script("x =");
    let path = path.to_str().unwrap();
    let missing = dir.0.join("missing.lua");
    let missing = missing.to_str().unwrap();
    let uid = dir.uid().to_string();
    let out = spank(&["check", "--owner", &uid, missing, path]);
    assert_eq!(out.code, Some(2));
    assert!(out.stdout.starts_with(path), "{}", out.stdout);
    let expected =
        format!("{missing}: cannot be found: No such file or directory; correct the path\n");
    assert_eq!(out.stderr, expected);
    for wrong in [&["check"][..], &[], &["check", "--owner", "me", path], &["chekc"]] {
        assert_eq!(spank(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_folder_is_no_script() {
    let dir = Dir::new();
    let out = check(&dir, &dir.0);
    assert_eq!(out.code, Some(1));
    assert!(out.stdout.ends_with(": is a directory; name the script\n"));
}

#[test]
fn the_version_names_the_release_of_slurm() {
    let out = spank(&["--version"]);
    assert_eq!(out.code, Some(0));
    let rest = out.stdout.strip_prefix("spank ").unwrap();
    let (version, slurm) = rest.split_once(" (for Slurm ").unwrap();
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let release = slurm.strip_suffix(")\n").unwrap();
    assert!(release.split('.').all(|part| part.parse::<u32>().is_ok()), "{release}");
}
