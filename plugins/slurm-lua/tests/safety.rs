//! What a script cannot do to its process, and what the environment cannot do to a script.

mod common;

use std::process::Command;

use common::load;

/// A43.
#[test]
fn os_exit_is_an_error_everywhere() {
    let text = "os.exit is not available here";
    let loaded = load(
        "function direct() os.exit(3) end\n\
         function protected() local ok, text = pcall(os.exit, 3); return text end\n\
         function coroutine_() local ok, text = coroutine.resume(coroutine.create(function() os.exit(3) end)); return text end\n\
         function loaded_() local ok, text = pcall(package.loaded.os.exit); return text end\n\
         function required() local ok, text = pcall(require('os').exit); return text end",
    );
    let failure = loaded.failed("direct");
    assert!(failure.message.starts_with("/etc/slurm/switch.lua:1: os.exit is not"), "{failure}");
    for name in ["protected", "coroutine_", "loaded_", "required"] {
        assert!(loaded.text(name).contains(text), "{name}");
    }
    let engine = common::empty(None).engine;
    let error = engine.load(&common::script("os.exit(3)")).unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
}

/// A42: the variables are set for a process of its own, which runs this test again.
#[test]
fn the_environment_cannot_redirect_modules() {
    const INSIDE: &str = "SLURM_LUA_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_none() {
        let evil = tempfile::tempdir().unwrap();
        for name in ["socket.lua", "planted.lua", "init.lua"] {
            std::fs::write(evil.path().join(name), "error('evil module ran')").unwrap();
        }
        let path = format!("{}/?.lua", evil.path().display());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "the_environment_cannot_redirect_modules", "--nocapture"])
            .env(INSIDE, "1")
            .env("LUA_INIT", format!("@{}/init.lua", evil.path().display()))
            .env("LUA_INIT_5_4", "error('evil init ran')")
            .current_dir(evil.path());
        for name in ["LUA_PATH", "LUA_CPATH"] {
            for suffix in ["", "_5_1", "_5_2", "_5_3", "_5_4"] {
                command.env(format!("{name}{suffix}"), &path);
            }
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let loaded = load(
        "function paths() return package.path .. ';' .. package.cpath end\n\
         function planted() return tostring(pcall(require, 'planted')) end",
    );
    let paths = loaded.text("paths");
    assert!(paths.contains("/usr/local/share/lua/5."), "{paths}");
    assert!(paths.split(';').all(|path| path.starts_with("/usr/")), "{paths}");
    assert_eq!(loaded.text("planted"), "false");
}

/// SW-019: LuaSocket's C part needs the API of the Lua in this process.
#[cfg(not(feature = "vendored"))]
#[test]
fn c_modules_load() {
    let loaded = load(
        "function f()\n\
         local ok, socket = pcall(require, 'socket')\n\
         if not ok then return 'absent: ' .. socket end\n\
         return type(socket.gettime())\n\
         end",
    );
    let text = loaded.text("f");
    assert!(text == "number" || text.contains("module 'socket' not found"), "{text}");
}

/// A04.
#[test]
fn a_file_that_is_no_c_module_is_refused_with_a_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("broken.so");
    std::fs::write(&path, "not a library").unwrap();
    let loaded = load(&format!(
        "package.cpath = '{}/?.so'; function f() require 'broken' end",
        directory.path().display()
    ));
    let message = loaded.failed("f").message;
    assert!(message.contains("broken.so"), "{message}");
    assert!(!message.contains('\n'));
}

/// A script that leaves work for the garbage collector logs while its state is closed.
#[test]
fn closing_a_state_runs_finalizers_safely() {
    let loaded =
        load("keep = setmetatable({}, { __gc = function() print('closing'); error('in gc') end })");
    let lines = loaded.lines.clone();
    drop(loaded.engine);
    let texts = lines.texts();
    assert!(texts.is_empty() || texts == ["switch/lua: closing"], "{texts:?}");
}

/// Wherever memory runs out, in Lua, in a callback of ours or in the error handler, a value comes
/// back.
#[test]
fn memory_may_run_out_anywhere() {
    let source = "function f()\n\
         local ok, text = pcall(function()\n\
         local t = {}\n\
         for i = 1, 200 do t[i] = { n = i, s = ('x'):rep(i) } end\n\
         return slurm.to_yaml(slurm.from_json(slurm.to_json(t)))\n\
         end)\n\
         print(ok, text)\n\
         slurm.log_info('%s %s', text, nil)\n\
         error({ text = text })\n\
         end";
    let mut failures = 0;
    for limit in (0..1_500_000).step_by(7_919) {
        let loaded = common::empty(Some(limit + 1));
        if loaded.engine.load(&common::script(source)).is_err() {
            failures += 1;
            continue;
        }
        let failure = loaded.failed("f");
        assert!(!failure.message.contains("internal error"), "{limit}: {failure}");
    }
    assert!(failures > 0);
}

#[test]
fn source_nested_without_end_is_refused() {
    for piece in ["(", "{", "function f() ", "do ", "not ", "[", "a.b:c(", "x="] {
        let error =
            common::empty(None).engine.load(&common::script(&piece.repeat(200_000))).unwrap_err();
        let line = error.to_string();
        assert!(line.contains("syntax error") || line.contains("C stack overflow"), "{line}");
    }
}

/// Formatting calls back into the script, which logs again.
#[test]
fn logging_that_recurses_ends() {
    let loaded = load(
        "local t = setmetatable({}, {})\n\
         getmetatable(t).__tostring = function() slurm.log_info('%s', t); return 't' end\n\
         function f() slurm.log_info('%s', t); print(t); return 'done' end",
    );
    assert_eq!(loaded.text("f"), "done");
    assert!(loaded.lines.take().len() > 10);
}
