//! Which files are read and which scripts load, each refusal in one line.
#![allow(clippy::expect_used, clippy::unwrap_used)]

mod common;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use slurm_lua::{LoadError, Script, Trust};
use tempfile::TempDir;

/// A directory of our own with a script in it.
struct Site {
    directory: TempDir,
}

impl Site {
    fn new(source: impl AsRef<[u8]>) -> Site {
        let site = Site { directory: tempfile::tempdir().unwrap() };
        fs::write(site.path(), source).unwrap();
        mode(&site.path(), 0o644);
        site
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("switch.lua")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn read(path: &Path) -> Result<Script, LoadError> {
    Script::read(path, &Trust { owners: vec![me()] })
}

/// Reads and loads; gives the one line of the refusal.
fn refusal(path: &Path) -> String {
    let result = read(path).and_then(|script| common::empty(None).engine.load(&script));
    let line = result.expect_err("a refusal").to_string();
    assert!(!line.chars().any(char::is_control), "{line:?}");
    assert!(!line.ends_with('.'), "{line}");
    assert!(line.contains(path.to_str().unwrap()), "{line}");
    line
}

/// SW-023, SW-029, A51.
#[test]
fn a_missing_script_cannot_be_statted() {
    let site = Site::new("");
    let line = refusal(&site.at("other.lua"));
    assert!(line.starts_with("Unable to stat "), "{line}");
    assert!(line.contains("No such file or directory"), "{line}");
    assert!(refusal(&site.at("no/such/dir.lua")).starts_with("Unable to stat "));
    assert!(refusal(&site.path().join("below.lua")).starts_with("Unable to stat "));
}

/// A51, SW-027.
#[test]
fn an_empty_script_is_valid_and_has_no_functions() {
    let site = Site::new("");
    let engine = common::empty(None).engine;
    engine.load(&read(&site.path()).unwrap()).unwrap();
    assert_eq!(engine.defines("slurm_switch_step_init"), slurm_lua::Defined::No);
}

/// A51.
#[test]
fn what_is_no_regular_file_is_refused() {
    let site = Site::new("");
    let directory = site.at("dir.lua");
    fs::create_dir(&directory).unwrap();
    mode(&directory, 0o755);
    assert!(refusal(&directory).contains("is a directory"));
    let fifo = site.at("fifo.lua");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(refusal(&fifo).contains("is a FIFO"));
    assert!(refusal(Path::new("/dev/null")).starts_with("script /dev/null: "));
}

#[test]
fn an_unreadable_script_is_refused() {
    let site = Site::new("");
    mode(&site.path(), 0o000);
    // Root reads it all the same.
    if me() != 0 {
        assert!(refusal(&site.path()).contains("cannot be read: Permission denied"));
    }
}

#[test]
fn a_script_that_others_can_write_is_refused() {
    for (bits, shown) in [(0o664, "0664"), (0o646, "0646"), (0o666, "0666")] {
        let site = Site::new("");
        mode(&site.path(), bits);
        let line = refusal(&site.path());
        assert!(line.contains("it has mode") && line.contains(shown), "{line}");
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused() {
    let site = Site::new("");
    mode(site.directory.path(), 0o775);
    assert!(refusal(&site.path()).contains("mode 0775"));
    // The sticky bit helps for directories further up only.
    mode(site.directory.path(), 0o1777);
    assert!(refusal(&site.path()).contains("mode 1777"));
    let below = site.at("site");
    fs::create_dir(&below).unwrap();
    mode(&below, 0o755);
    fs::write(below.join("switch.lua"), "").unwrap();
    mode(&below.join("switch.lua"), 0o600);
    read(&below.join("switch.lua")).unwrap();
    mode(site.directory.path(), 0o777);
    assert!(refusal(&below.join("switch.lua")).contains("mode 0777"));
}

#[test]
fn a_script_of_somebody_else_is_refused() {
    let site = Site::new("");
    let stranger = Trust { owners: vec![] };
    if me() == 0 {
        chown(site.path(), Some(65_534), None).unwrap();
    }
    let line = Script::read(&site.path(), &stranger).unwrap_err().to_string();
    assert!(line.contains("is owned by uid") && line.contains("not by uid 0"), "{line}");
    if me() == 0 {
        chown(site.path(), Some(0), None).unwrap();
        chown(site.directory.path(), Some(65_534), None).unwrap();
        let line = Script::read(&site.path(), &stranger).unwrap_err().to_string();
        assert!(
            line.contains(&format!("{} is owned by uid 65534", site.directory.path().display())),
            "{line}"
        );
    }
}

#[test]
fn links_are_followed_and_the_way_through_them_is_checked() {
    let site = Site::new("x = 1");
    symlink(site.path(), site.at("link.lua")).unwrap();
    symlink("link.lua", site.at("link2.lua")).unwrap();
    symlink("..", site.at("up")).unwrap();
    let name = site.directory.path().file_name().unwrap();
    for path in
        [site.at("link.lua"), site.at("link2.lua"), site.at("up").join(name).join("link2.lua")]
    {
        assert_eq!(read(&path).unwrap().source, b"x = 1");
    }
    symlink("loop.lua", site.at("loop.lua")).unwrap();
    assert!(refusal(&site.at("loop.lua")).contains("symbolic links"));
    let open = Site::new("");
    mode(open.directory.path(), 0o777);
    symlink(open.path(), site.at("open.lua")).unwrap();
    assert!(refusal(&site.at("open.lua")).contains("mode 0777"));
    symlink(site.path(), open.at("back.lua")).unwrap();
    assert!(refusal(&open.at("back.lua")).contains("mode 0777"));
}

#[test]
fn a_script_that_is_too_large_is_refused() {
    let site = Site::new("");
    fs::File::options().write(true).open(site.path()).unwrap().set_len((16 << 20) + 1).unwrap();
    assert!(refusal(&site.path()).contains("larger than 16777216 bytes"));
}

/// A50.
#[test]
fn the_identity_changes_with_the_file() {
    let site = Site::new("x = 1");
    let first = read(&site.path()).unwrap().identity;
    assert_eq!(first, read(&site.path()).unwrap().identity);
    fs::write(site.at("new.lua"), "x = 2").unwrap();
    mode(&site.at("new.lua"), 0o600);
    fs::rename(site.at("new.lua"), site.path()).unwrap();
    assert_ne!(first, read(&site.path()).unwrap().identity);
}

/// SW-024, SW-038.
#[test]
fn a_syntax_error_names_file_and_line() {
    let site = Site::new("x = 1\ny = = 2\n");
    let line = refusal(&site.path());
    let place = format!("script {}:2: syntax error: ", site.path().display());
    assert!(line.starts_with(&place), "{line}");
    let engine = common::empty(None).engine;
    assert!(engine.compile_only(&common::script("function f(")).is_err());
    engine.compile_only(&common::script("error('not run')")).unwrap();
}

/// SW-025.
#[test]
fn an_error_at_the_top_level_names_file_and_line() {
    let site = Site::new("x = 1\nerror('no fabric')\n");
    let line = refusal(&site.path());
    assert!(line.contains("switch.lua:2: no fabric"), "{line}");
}

/// SW-026, SW-030.
#[test]
fn a_top_level_that_returns_another_number_is_refused() {
    for (source, number) in [
        ("return 1", "1"),
        ("return slurm.ERROR", "-1"),
        ("return -0.5", "-0.5"),
        ("return 2.0, 'x'", "2"),
        ("return 0/0", "nan"),
    ] {
        let line = refusal(&Site::new(source).path());
        assert!(line.contains(&format!("returned {number} on load")), "{line}");
    }
}

/// SW-027.
#[test]
fn a_top_level_that_returns_anything_else_loads() {
    for source in [
        "",
        "return",
        "return nil",
        "return 0",
        "return 0.0",
        "return slurm.SUCCESS",
        "return {}",
        "return '7'",
        "return true",
    ] {
        common::load(source);
    }
}

#[test]
fn marks_first_lines_and_line_ends_of_other_systems_load() {
    for source in [
        "\u{feff}x = 1",
        "#!/usr/bin/lua\nx = 1",
        "\u{feff}#!/usr/bin/lua\r\nx = 1\r\n",
        "x = 1\r\n-- y\r\n",
        "#!/usr/bin/lua",
    ] {
        common::load(source);
    }
    let line = refusal(&Site::new("#!/usr/bin/lua\r\nerror('here')\r\n").path());
    assert!(line.contains("switch.lua:2: here"), "{line}");
}

/// A51.
#[test]
fn rubbish_is_refused_in_one_line() {
    for source in [
        b"\x1bLua\x54\0\x19\x93".as_slice(),
        b"#!x\n\x1bLua",
        b"x\0y",
        b"\x7fELF\x02\x01\x01\0",
        b"\xff\xfe",
    ] {
        refusal(&Site::new(source).path());
    }
    assert!(refusal(&Site::new(b"\x1bLua").path()).contains("precompiled"));
}
