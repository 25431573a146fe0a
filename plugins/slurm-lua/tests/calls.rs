//! Calling a script's functions: what comes back, and what is left of an error.

mod common;

use common::{empty, load, script};
use slurm_lua::mlua::Value;
use slurm_lua::{Answer, Call, Defined};

/// SW-007.
#[test]
fn functions_are_found_and_other_globals_are_told_apart() {
    let loaded = load("function f() end; g = 4; h = { }");
    assert_eq!(loaded.engine.defines("f"), Defined::Yes);
    assert_eq!(loaded.engine.defines("nothing"), Defined::No);
    assert!(matches!(loaded.engine.defines("g"), Defined::NotAFunction(_)));
    assert_eq!(loaded.engine.defines("h"), Defined::NotAFunction("table"));
    assert!(matches!(loaded.engine.call("nothing", ()), Call::Undefined));
    assert!(matches!(loaded.engine.call("h", ()), Call::Undefined));
}

/// SW-007.
#[test]
fn a_script_that_forbids_undefined_globals_can_be_asked() {
    let loaded =
        load("setmetatable(_G, { __index = function(_, name) error('undefined ' .. name) end })");
    assert_eq!(loaded.engine.defines("f"), Defined::No);
    let loaded = load("setmetatable(_G, { __index = { f = function() return 1 end } })");
    assert_eq!(loaded.engine.defines("f"), Defined::Yes);
}

#[test]
fn arguments_and_results_keep_their_number() {
    let loaded = load("function f(...) return select('#', ...), ... end");
    let values = loaded.returned("f", (1, Value::Nil, "x", Value::Nil)).into_vec();
    assert_eq!(values.len(), 5);
    assert_eq!(values[0], Value::Integer(4));
    assert_eq!(values[1], Value::Integer(1));
    assert_eq!(values[4], Value::Nil);
    let loaded = load("function f() end; function g() return nil end");
    assert_eq!(Answer::of(&loaded.returned("f", ())), Answer::NotANumber("nothing"));
    assert_eq!(Answer::of(&loaded.returned("g", ())), Answer::NotANumber("nil"));
}

/// SW-236, SW-237, SW-238: integers, so that they print without a fraction (A46).
#[test]
fn the_constants_are_integers() {
    let loaded = load(
        "function f() return slurm.SUCCESS .. ' ' .. slurm.ERROR .. ' ' .. slurm.FAILURE .. ' ' .. slurm.EAGAIN end",
    );
    assert_eq!(loaded.text("f"), "0 -1 -1 11");
}

/// A39.
#[test]
fn both_names_of_unpack_exist() {
    let loaded =
        load("function f() return unpack({ 'a' }) .. table.unpack({ 'b' }) .. _VERSION end");
    assert!(loaded.text("f").starts_with("abLua 5."));
}

/// A05.
#[cfg(feature = "lua54")]
#[test]
fn the_lua_that_runs_is_the_one_compiled_in() {
    let loaded = load("function f() return _VERSION .. ' ' .. 7//2 end");
    assert_eq!(loaded.text("f"), "Lua 5.4 3");
}

#[test]
fn an_error_has_script_and_line_and_the_frames_of_the_script() {
    let loaded = load(
        "local function inner() error('boom') end\n\
         function f()\n\
         inner()\n\
         return 0\n\
         end",
    );
    let failure = loaded.failed("f");
    assert_eq!(failure.message, "/etc/slurm/switch.lua:1: boom");
    assert_eq!(failure.traceback.len(), 2, "{:?}", failure.traceback);
    assert!(
        failure.traceback[0].starts_with("/etc/slurm/switch.lua:1: in "),
        "{:?}",
        failure.traceback
    );
    assert!(
        failure.traceback[1].starts_with("/etc/slurm/switch.lua:3: in "),
        "{:?}",
        failure.traceback
    );
}

#[test]
fn error_values_of_every_kind_give_a_readable_line() {
    let place = "/etc/slurm/switch.lua:1:";
    for (raise, expected) in [
        ("error('text', 0)", "text".to_owned()),
        ("error()", format!("{place} error value is nil: give error() a string")),
        ("error(nil)", format!("{place} error value is nil: give error() a string")),
        ("error({})", format!("{place} error value is a table: give error() a string")),
        (
            "error({ code = 5, msg = 'no link' })",
            format!("{place} error value is a table: code=5, msg=no link"),
        ),
        (
            "error(setmetatable({}, { __tostring = function() return 'own' end }))",
            format!("{place} own"),
        ),
        (
            "error(setmetatable({}, { __tostring = function() error('x') end }))",
            format!("{place} (a table whose __tostring fails)"),
        ),
        (
            "error(setmetatable({}, { __metatable = 'locked' }))",
            format!("{place} error value is a table: give error() a string"),
        ),
        ("error(42)", format!("{place} 42")),
        ("error(true)", format!("{place} true")),
        ("error('two\\nlines')", format!("{place} two\\nlines")),
        ("local x = nil + 1", format!("{place} attempt to perform arithmetic on a nil value")),
        (
            "return slurm.from_json(true)",
            format!("{place} slurm.from_json: expected a string, got boolean"),
        ),
        (
            "slurm.from_json(true)",
            format!("{place} slurm.from_json: expected a string, got boolean"),
        ),
    ] {
        let loaded = load(&format!("function f() {raise} end"));
        assert_eq!(loaded.failed("f").message, expected, "{raise}");
    }
}

#[test]
fn errors_from_rust_callbacks_have_a_place_and_no_second_traceback() {
    let loaded = load("function f() rusty() end");
    let rusty = loaded.engine.lua().create_function(|_, ()| -> slurm_lua::mlua::Result<()> {
        Err(slurm_lua::mlua::Error::runtime("no such item"))
    });
    loaded.engine.lua().globals().set("rusty", rusty.unwrap()).unwrap();
    let failure = loaded.failed("f");
    assert_eq!(failure.message, "/etc/slurm/switch.lua:1: no such item");
}

#[test]
fn a_panic_in_a_callback_is_a_failure() {
    let loaded = load("function f() rusty() end; function g() return 0 end");
    let rusty = loaded
        .engine
        .lua()
        .create_function(|_, ()| -> slurm_lua::mlua::Result<()> { panic!("bug") });
    loaded.engine.lua().globals().set("rusty", rusty.unwrap()).unwrap();
    assert!(loaded.failed("f").message.contains("bug"));
    loaded.returned("g", ());
}

/// A45.
#[test]
fn many_calls_leave_nothing_behind() {
    let loaded = load("function bad() error('x') end; function good() return 1, {} end");
    let run = || {
        for _ in 0..20_000 {
            assert!(matches!(loaded.engine.call("undefined", ()), Call::Undefined));
            loaded.failed("bad");
            loaded.returned("good", ());
        }
        loaded.engine.lua().gc_collect().unwrap();
        loaded.engine.lua().used_memory()
    };
    let first = run();
    let second = run();
    assert!(second < first + 4096, "{first} bytes, then {second}");
}

#[test]
fn runaway_recursion_is_a_failure() {
    let loaded = load(
        "function f() return 1 + f() end; function g() return setmetatable({}, { __index = function(t, k) return t[k] end }).x end",
    );
    assert!(loaded.failed("f").message.contains("stack overflow"));
    assert!(loaded.failed("g").message.contains("overflow"));
}

#[test]
fn a_million_results_or_arguments_do_no_harm() {
    let loaded = load(
        "local t = {}; for i = 1, 900000 do t[i] = 'v' .. i end\n\
         function f() return table.unpack(t) end\n\
         function g() print(table.unpack(t)) end\n\
         function h() return 0 end",
    );
    for name in ["f", "g"] {
        match loaded.engine.call(name, ()) {
            Call::Returned(values) => assert!(values.len() <= 16),
            Call::Failed(failure) => assert!(
                failure.message.contains("results") || failure.message.contains("overflow"),
                "{failure}"
            ),
            Call::Undefined => panic!("{name} is defined"),
        }
    }
    loaded.returned("h", ());
}

#[test]
fn the_memory_limit_ends_a_call_and_the_engine_lives_on() {
    let loaded = empty(Some(16 << 20));
    loaded.engine.load(&script("function f() local t = {} while true do t[#t + 1] = ('x'):rep(4096) .. #t end end\nfunction g() return ('x'):rep(2 ^ 30) end\nfunction h() return 'fine' end")).unwrap();
    for name in ["f", "g", "f"] {
        let failure = loaded.failed(name);
        assert!(
            failure.message.contains("not enough memory")
                && failure.message.ends_with(": the limit of 16777216 bytes is reached"),
            "{failure}"
        );
        assert_eq!(loaded.text("h"), "fine");
    }
}

/// A37.
#[test]
fn two_engines_share_no_globals() {
    let a = load("who = 'a'; function f() return who end");
    let b = load("who = 'b'; function f() return who end");
    assert_eq!(a.text("f") + &b.text("f"), "ab");
}
