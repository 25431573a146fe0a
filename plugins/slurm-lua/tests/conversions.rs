//! JSON, YAML and the environment table, as scripts see them.

mod common;

use common::{INTEGERS, load};
use slurm_lua::env::{MAX_ENTRY, environment};
use slurm_lua::mlua::Value;
use slurm_lua::{Data, EnvChange, Limits};

/// Evaluates an expression that gives a string.
fn eval(expression: &str) -> String {
    load(&format!("function f() return {expression} end")).text("f")
}

/// Evaluates an expression that raises.
fn refused(expression: &str) -> String {
    load(&format!("function f() return {expression} end")).failed("f").message
}

/// A48, SW-250.
#[test]
fn lists_and_maps_keep_their_kind_through_json() {
    for text in [
        r#"{"l":[],"o":{}}"#,
        "[]",
        "{}",
        "[[],{}]",
        r#"{"a":[1,{"b":"c"}]}"#,
        "[null,1,null]",
        r#"{"1":"a"}"#,
    ] {
        assert_eq!(eval(&format!("slurm.to_json(slurm.from_json('{text}'))")), text);
    }
    assert_eq!(eval("slurm.to_json({})"), "{}");
    assert_eq!(eval("slurm.to_json(slurm.array({}))"), "[]");
    assert_eq!(eval("slurm.to_json(slurm.array())"), "[]");
    assert_eq!(eval("slurm.to_json({ 1, slurm.null, 3 })"), "[1,null,3]");
    assert_eq!(eval("slurm.to_json({ a = slurm.null })"), r#"{"a":null}"#);
    assert_eq!(eval("slurm.to_json(nil)"), "null");
    assert_eq!(eval("tostring(slurm.from_json('{\"a\":null}').a)"), "nil");
    assert_eq!(eval("tostring(slurm.from_json('[null]')[1] == slurm.null)"), "true");
}

/// A48.
#[test]
fn sparse_and_mixed_tables_are_errors() {
    for (expression, what) in [
        ("slurm.to_json({ 1, nil, 3 })", "value is a sparse list"),
        ("slurm.to_json({ a = { [1] = 'a', x = 1 } })", "value at .a is a table with both"),
        ("slurm.to_json({ [2] = 'a' })", "value is a sparse list"),
        ("slurm.to_json(slurm.array({ x = 1 }))", "slurm.array with other keys"),
        ("slurm.to_yaml({ 1, nil, 3 })", "value is a sparse list"),
        ("slurm.to_json({ [1.5] = 'a' })", "has a key that is a number"),
        ("slurm.to_json({ [true] = 'a' })", "has a key that is a boolean"),
    ] {
        assert!(refused(expression).contains(what), "{expression}: {}", refused(expression));
    }
}

#[test]
fn what_is_no_data_is_an_error_with_its_place() {
    for (expression, what) in [
        (
            "slurm.to_json({ a = { b = { 1, 2, print } } })",
            "slurm.to_json: value at .a.b[3] is a function",
        ),
        ("slurm.to_json({ ['a b'] = io.stdout })", "value at [\"a b\"] is a userdata"),
        ("slurm.to_yaml(coroutine.create(print))", "slurm.to_yaml: value is a thread"),
        ("slurm.to_json({ x = '\\255' })", "value at .x is a string that is not UTF-8"),
        ("slurm.to_json({ ['\\255'] = 1 })", "not UTF-8"),
        ("slurm.to_json({ x = 0/0 })", "value at .x is nan"),
        ("slurm.to_json({ x = -1/0 })", "value at .x is -inf"),
        ("slurm.array(1)", "slurm.array: expected a table, got number"),
        ("slurm.array(setmetatable({}, {}))", "metatable of its own"),
    ] {
        let message = refused(expression);
        assert!(message.contains(what), "{expression}: {message}");
        assert!(message.starts_with("/etc/slurm/switch.lua:1: "), "{message}");
    }
}

#[test]
fn cycles_depth_and_size_are_bounded() {
    let loaded = load(
        "function cycle() local t = { }; t.a = { b = t }; return slurm.to_json(t) end\n\
         function nest(n) local t = {}; for _ = 2, n do t = { t } end; return t end\n\
         function deep() return slurm.to_json(nest(65)) end\n\
         function fits() return slurm.to_json(nest(64)) end\n\
         function wide() local t = {}; for i = 1, 1000001 do t[i] = 0 end; return slurm.to_json(t) end\n\
         function bomb() local t = { 1 }; for _ = 1, 40 do t = { t, t } end; return slurm.to_json(t) end\n\
         function shared() local t = { 1 }; return slurm.to_json({ t, t }) end",
    );
    assert!(loaded.failed("cycle").message.contains("table at .a.b contains itself"));
    assert!(loaded.failed("deep").message.contains("deeper than 64 levels"));
    assert_eq!(loaded.text("fits").len(), 2 * 64);
    assert!(loaded.failed("wide").message.contains("more than 1000000 entries"));
    assert!(loaded.failed("bomb").message.contains("more than 1000000 entries"));
    assert_eq!(loaded.text("shared"), "[[1],[1]]");
    let deep = "slurm.from_json(('['):rep(65) .. (']'):rep(65))";
    assert!(refused(deep).contains("deeper than 64 levels"));
    assert!(refused("slurm.from_json(('['):rep(1000000))").contains("deeper than 64 levels"));
}

/// A47, A46.
#[test]
fn numbers_survive_and_print_in_plain_digits() {
    for text in
        ["9007199254740993", "-9223372036854775808", "9223372036854775807", "0.1", "4294967294"]
    {
        if INTEGERS || text.len() < 16 {
            let expression = format!("slurm.to_json(slurm.from_json('{text}'))");
            assert_eq!(eval(&expression), text);
            let expression = format!("slurm.to_yaml(slurm.from_yaml('{text}'))");
            assert_eq!(eval(&expression), format!("{text}\n"));
        }
    }
    assert_eq!(
        eval("slurm.to_json(slurm.from_json('18446744073709551614'))"),
        "18446744073709552000"
    );
    assert_eq!(
        eval("slurm.to_json({ 4.0, 10 / 2, 1e15, 1e-7 })"),
        "[4,5,1000000000000000,0.0000001]"
    );
    assert!(!eval("slurm.to_json(1e300)").contains('e'));
}

/// SW-254: bad text is an error that a script can catch, a string with the place of the call.
#[test]
fn bad_text_is_a_catchable_error_with_line_and_column() {
    let message = refused("slurm.from_json('{\"a\":\\n tru}')");
    assert!(message.starts_with("/etc/slurm/switch.lua:1: slurm.from_json: "), "{message}");
    assert!(message.contains("line 2 column"), "{message}");
    assert!(refused("slurm.from_json('1 2')").contains("trailing characters"));
    assert!(refused("slurm.from_json('')").contains("EOF"));
    assert!(refused("slurm.from_json()").contains("expected a string, got nil"));
    assert!(refused("slurm.from_yaml('a: [1')").contains("line"));
    let loaded = load(
        "function f() local ok, text = pcall(slurm.from_json, '{'); return type(text) .. tostring(ok) end",
    );
    assert_eq!(loaded.text("f"), "stringfalse");
}

/// SW-251.
#[test]
fn yaml_reads_and_writes() {
    assert_eq!(
        eval("slurm.to_json(slurm.from_yaml('a: [1, x]\\nb: {}\\nc: []\\nd: \"7\"'))"),
        r#"{"a":[1,"x"],"b":{},"c":[],"d":"7"}"#
    );
    assert_eq!(eval("slurm.from_yaml('100: eth0')[100]"), "eth0");
    assert_eq!(eval("slurm.to_yaml({ a = { 'x', '7' }, b = {} })"), "a:\n- x\n- '7'\nb: {}\n");
    assert_eq!(eval("tostring(slurm.from_yaml(''))"), "nil");
    assert!(!refused("slurm.from_yaml('a: !t 1')").is_empty());
    assert!(!refused("slurm.from_yaml('a: 1\\n---\\nb: 2')").is_empty());
    assert!(refused("slurm.from_yaml(('x'):rep(1048577))").contains("more than 1048576"));
}

#[test]
fn a_yaml_alias_bomb_is_refused() {
    let message = refused(
        "(function() local t = 'a0: &a0 [x,x,x,x,x,x,x,x,x,x]\\n'\n\
         for i = 1, 12 do t = t .. 'a' .. i .. ': &a' .. i .. ' [' .. ('*a' .. i - 1 .. ','):rep(10) .. ']\\n' end\n\
         return slurm.to_json(slurm.from_yaml(t)) end)()",
    );
    assert!(message.contains("limit exceeded") || message.contains("entries"), "{message}");
}

/// The wire keeps integer keys, which JSON refuses.
#[test]
fn data_keeps_integer_keys_and_empty_lists() {
    let loaded = load("function f() return { [7] = 'x', a = slurm.array(), b = {} } end");
    let value = loaded.returned("f", ()).pop_front().unwrap();
    let lua = loaded.engine.lua();
    let data = Data::from_lua(lua, &value, Limits::default()).unwrap();
    use slurm_lua::Key;
    assert_eq!(
        data,
        Data::Map(vec![
            (Key::Int(7), Data::Str(b"x".to_vec())),
            (Key::Str(b"a".to_vec()), Data::List(vec![])),
            (Key::Str(b"b".to_vec()), Data::Map(vec![])),
        ])
    );
    let again = Data::from_lua(lua, &data.to_lua(lua).unwrap(), Limits::default()).unwrap();
    assert_eq!(data, again);
    let limits = Limits { depth: 1, entries: 10 };
    assert!(
        Data::from_lua(lua, &value, limits)
            .unwrap_err()
            .to_string()
            .contains("deeper than 1 levels")
    );
}

fn changes(table: &str) -> (Vec<String>, Vec<String>) {
    let loaded = load(&format!("function f() return {table} end"));
    let value = loaded.returned("f", ()).pop_front().unwrap_or(Value::Nil);
    let (changes, lines) = environment(&value);
    let changes = changes.iter().map(|change| match change {
        EnvChange::Set { name, value } => {
            format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        }
        EnvChange::Unset { name } => format!("-{}", String::from_utf8_lossy(name)),
    });
    (changes.collect(), lines)
}

/// A46.
#[test]
fn an_environment_table_becomes_sorted_changes() {
    let (changed, lines) =
        changes("{ N = 4.0, M = 42, S = 'x=y', T = true, F = false, E = '', D = 0.1, X = 1e15 }");
    assert_eq!(changed, ["D=0.1", "E=", "-F", "M=42", "N=4", "S=x=y", "T=1", "X=1000000000000000"]);
    assert!(lines.is_empty());
}

#[test]
fn entries_without_meaning_are_skipped_with_a_line_each() {
    let (changed, lines) = changes(
        "{ 'a', [true] = 1, [''] = 1, ['a=b'] = 1, ['a\\0'] = 1, T = {}, F = print, Z = 'a\\0b', I = 1/0, [('n'):rep(256)] = 1, OK = 1 }",
    );
    assert_eq!(changed, ["OK=1"]);
    assert_eq!(lines.len(), 10, "{lines:#?}");
    let mut sorted = lines.clone();
    sorted.sort();
    assert_eq!(lines, sorted);
    assert!(
        lines.iter().all(|line| line.ends_with(": skipped") && !line.chars().any(char::is_control)),
        "{lines:#?}"
    );
    assert!(
        lines.contains(&"environment: name is the integer 1, not a string: skipped".to_owned()),
        "{lines:#?}"
    );
    assert!(
        lines.contains(&"environment variable \"T\": the value is a table: skipped".to_owned()),
        "{lines:#?}"
    );
}

#[test]
fn a_variable_too_long_for_the_kernel_is_skipped() {
    let length = MAX_ENTRY - 1 - 2 - 1;
    assert!(changes(&format!("{{ A = ('x'):rep({length}) }}")).1.is_empty());
    let (changed, lines) = changes(&format!("{{ A = ('x'):rep({}) }}", length + 1));
    assert!(changed.is_empty());
    assert_eq!(lines.len(), 1);
}

#[test]
fn an_environment_that_is_no_table_is_one_line() {
    assert_eq!(changes(""), (vec![], vec![]));
    assert_eq!(changes("nil"), (vec![], vec![]));
    let (changed, lines) = changes("'A=1'");
    assert!(changed.is_empty());
    assert_eq!(lines, ["environment is a string, not a table: it is ignored"]);
    let (_, lines) =
        changes("(function() local t = {}; for i = 1, 1000 do t[i] = i end; return t end)()");
    assert_eq!(lines.len(), 65);
}
