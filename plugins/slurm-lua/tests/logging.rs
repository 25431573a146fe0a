//! What scripts say reaches the log: levels, formats, prefixes, and nothing that breaks a line.

mod common;

use common::{INTEGERS, load};
use slurm_lua::Level;

/// SW-239, SW-240, SW-242, SW-243, SW-245.
#[test]
fn every_log_function_has_its_level_and_the_running_function_in_front() {
    let loaded = load(
        r#"
        slurm.log_info("top %d", 1)
        function f()
            slurm.log_error("a %s", "b")
            slurm.log_info("i")
            slurm.log_verbose("v")
            slurm.log_debug("d")
            slurm.log_debug2("d2")
            slurm.log_debug3("d3")
            slurm.log_debug4("d4")
            slurm.error("plain 50%")
            print("x", nil, 4, true)
        end"#,
    );
    let line = |level, text: &str| (level, format!("switch/lua: {text}"));
    assert_eq!(loaded.lines.take(), [line(Level::Info, "load: top 1")]);
    loaded.returned("f", ());
    assert_eq!(
        loaded.lines.take(),
        [
            line(Level::Error, "f: a b"),
            line(Level::Info, "f: i"),
            line(Level::Verbose, "f: v"),
            line(Level::Debug, "f: d"),
            line(Level::Debug2, "f: d2"),
            line(Level::Debug3, "f: d3"),
            line(Level::Debug4, "f: d4"),
            line(Level::Error, "f: plain 50%"),
            line(Level::Info, "f: x\tnil\t4\ttrue"),
        ]
    );
}

/// SW-241.
#[test]
fn slurm_log_takes_numbers_and_names() {
    let loaded = load(
        r#"for _, level in ipairs({ -1, 0, 1.0, 5, 99, math.huge, "4", "info", "debug4" }) do
            slurm.log(level, "m")
        end"#,
    );
    let levels: Vec<Level> = loaded.lines.take().into_iter().map(|line| line.0).collect();
    use Level::{Debug3, Debug4, Error, Info, Verbose};
    let expected = [Error, Info, Verbose, Debug4, Debug4, Debug4, Debug3, Info, Debug4];
    assert_eq!(levels, expected);
}

/// SW-241.
#[test]
fn slurm_log_refuses_other_levels_and_names_them() {
    let loaded = load("function f(level) slurm.log(level, 'm') end");
    for (level, shown) in
        [("'loud'", "loud"), ("1.5", "1.5"), ("-2", "-2"), ("0/0", "nan"), ("nil", "nil")]
    {
        let source = format!("function g() f({level}) end");
        loaded.engine.load(&common::script(&source)).unwrap();
        let failure = loaded.failed("g");
        assert!(failure.message.contains("slurm.log: level"), "{failure}");
        assert!(failure.message.contains(shown), "{failure}");
        assert!(failure.message.starts_with("/etc/slurm/switch.lua:1:"), "{failure}");
    }
}

/// A40.
#[test]
fn nil_arguments_are_logged() {
    let loaded = load(
        r#"slurm.log_info("%s %s", "a", nil)
        slurm.log_info("%s", nil)
        slurm.log_info("%s %s", nil, "b")
        slurm.log_info("%s %s %s", nil, nil, nil)"#,
    );
    let expected =
        ["a nil", "nil", "nil b", "nil nil nil"].map(|text| format!("switch/lua: load: {text}"));
    assert_eq!(loaded.lines.texts(), expected);
}

/// A40, A44, A46: a log call that cannot be formatted says so and goes on.
#[test]
fn a_bad_format_is_logged_and_does_not_raise() {
    let loaded = load(
        r#"slurm.log_error("disk 95%s full %n")
        slurm.log_info("%s", "50%")
        slurm.log_info("%s %s", "a")
        slurm.log_info("%d", 3.0)
        slurm.log_info("%d", 3.5)
        slurm.log_info(nil)
        slurm.log_info()
        slurm.log_info("%s", setmetatable({}, { __tostring = function() error("no") end }))
        print(setmetatable({}, { __tostring = function() return {} end }))
        slurm.error(nil)"#,
    );
    let lines = loaded.lines.take();
    assert_eq!(lines.len(), 10);
    let texts: Vec<&str> =
        lines.iter().map(|(_, text)| text.trim_start_matches("switch/lua: load: ")).collect();
    assert_eq!(lines[0].0, Level::Error);
    assert!(texts[0].starts_with("disk 95%s full %n [log format error: "), "{}", texts[0]);
    assert_eq!(texts[1], "50%");
    assert!(texts[2].starts_with("%s %s [log format error: bad argument #3"), "{}", texts[2]);
    assert_eq!(texts[3], "3");
    // Without integers %d cuts the fraction off.
    assert!(!INTEGERS || texts[4].contains("number has no integer representation"), "{}", texts[4]);
    assert!(texts[5].starts_with("nil [log format error: "), "{}", texts[5]);
    assert!(texts[6].starts_with("nil [log format error: "), "{}", texts[6]);
    assert!(
        texts[7].contains("[log format error: ") || texts[7].contains("whose __tostring fails"),
        "{}",
        texts[7]
    );
    assert_eq!(texts[8], "(a table whose __tostring fails)");
    assert_eq!(texts[9], "nil");
}

/// A46.
#[cfg(not(any(feature = "lua51", feature = "luajit")))]
#[test]
fn string_format_itself_keeps_raising() {
    let loaded = load("function f() return string.format('%d', 3.5) end");
    assert!(loaded.failed("f").message.contains("number has no integer representation"));
}

#[test]
fn a_log_call_is_one_line_whatever_the_script_puts_in() {
    let loaded = load(r#"print("a\nerror: forged\27[2J\200", "b\n")"#);
    assert_eq!(loaded.lines.texts(), ["switch/lua: load: a\\nerror: forged\\x1b[2J\\xc8\tb"]);
    let loaded = load(r#"print(string.rep("x", 1000000))"#);
    let texts = loaded.lines.texts();
    assert!(texts[0].len() <= slurm_lua::text::MAX_LINE);
    assert!(texts[0].contains("cut here"));
}

#[test]
fn the_name_of_the_function_follows_nested_calls() {
    let loaded = common::empty(None);
    loaded.engine.load(&common::script("function f() print(1) end")).unwrap();
    loaded.returned("f", ());
    loaded.engine.lua().load("print(2)").exec().unwrap();
    assert_eq!(loaded.lines.texts(), ["switch/lua: f: 1", "switch/lua: 2"]);
}

/// A script may redefine what the logger needs.
#[test]
fn overwritten_globals_do_not_break_logging() {
    let loaded = load(
        r#"string.format, tostring, pcall, table.concat = nil, nil, nil, nil
        slurm.log_info("%s", 1)
        print(2)"#,
    );
    assert_eq!(loaded.lines.texts(), ["switch/lua: load: 1", "switch/lua: load: 2"]);
}
