//! Properties of the conversions over generated values.

#![allow(clippy::unwrap_used)]

mod common;

use common::INTEGERS;
use proptest::prelude::*;
use slurm_lua::env::{MAX_ENTRY, MAX_NAME, environment};
use slurm_lua::mlua::{Lua, Value};
use slurm_lua::{Data, EnvChange, Key, Limits, format};

/// Trees that JSON can hold, with maps in order and without nulls, which maps drop.
fn tree() -> impl Strategy<Value = Data> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Data::Bool),
        any::<i64>().prop_map(|number| Data::Int(if INTEGERS { number } else { number >> 11 })),
        // Integral floats are written as integers and come back as such.
        any::<f64>()
            .prop_filter("a fraction", |number| number.is_finite() && number.fract() != 0.0)
            .prop_map(Data::Float),
        "\\PC{0,8}".prop_map(|text| Data::Str(text.into_bytes())),
        any::<String>().prop_map(|text| Data::Str(text.into_bytes())),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Data::List),
            proptest::collection::btree_map("[a-z0-9 ]{0,6}", inner, 0..6).prop_map(|map| {
                let entries = map.into_iter();
                Data::Map(entries.map(|(key, data)| (Key::Str(key.into_bytes()), data)).collect())
            }),
        ]
    })
}

/// Any Lua value that can stand in an environment table.
#[derive(Clone, Debug)]
enum Leaf {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Vec<u8>),
}

fn leaf() -> impl Strategy<Value = Leaf> {
    prop_oneof![
        any::<bool>().prop_map(Leaf::Bool),
        any::<i64>().prop_map(Leaf::Int),
        any::<f64>().prop_map(Leaf::Float),
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(Leaf::Str),
    ]
}

fn value(lua: &Lua, leaf: &Leaf) -> Value {
    match leaf {
        Leaf::Bool(value) => Value::Boolean(*value),
        Leaf::Int(value) => Value::Integer(*value),
        Leaf::Float(value) => Value::Number(*value),
        Leaf::Str(value) => Value::String(lua.create_string(value).unwrap()),
    }
}

proptest! {
    /// A47, A48.
    #[test]
    fn json_gives_back_the_same_tree(data in tree()) {
        let text = format::to_json(&data).unwrap();
        prop_assert_eq!(format::from_json(text.as_bytes(), Limits::default()).unwrap(), data);
    }

    #[test]
    fn yaml_gives_back_the_same_tree(data in tree()) {
        let text = format::to_yaml(&data).unwrap();
        prop_assert_eq!(format::from_yaml(text.as_bytes(), Limits::default()).unwrap(), data);
    }

    #[test]
    fn lua_gives_back_the_same_tree(data in tree()) {
        let lua = Lua::new();
        let value = data.to_lua(&lua).unwrap();
        prop_assert_eq!(Data::from_lua(&lua, &value, Limits::default()).unwrap(), data);
    }

    #[test]
    fn any_bytes_read_as_json_or_yaml_give_a_value_or_one_line(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        for read in [format::from_json, format::from_yaml] {
            if let Err(error) = read(&text, Limits::default()) {
                prop_assert!(!error.to_string().chars().any(char::is_control));
            }
        }
    }

    #[test]
    fn every_change_can_be_put_into_an_environment(
        entries in proptest::collection::vec((leaf(), leaf()), 0..20)
    ) {
        let lua = Lua::new();
        let table = lua.create_table().unwrap();
        for (name, entry) in &entries {
            if matches!(name, Leaf::Float(number) if number.is_nan()) {
                continue;
            }
            table.raw_set(value(&lua, name), value(&lua, entry)).unwrap();
        }
        let count = table.pairs::<Value, Value>().count();
        let (changes, lines) = environment(&Value::Table(table));
        prop_assert_eq!(changes.len() + lines.len(), count);
        prop_assert!(changes.is_sorted_by(|a, b| a.name() < b.name()));
        for change in &changes {
            let name = change.name();
            prop_assert!(!name.is_empty() && name.len() <= MAX_NAME);
            prop_assert!(!name.contains(&b'=') && !name.contains(&0));
            if let EnvChange::Set { value, .. } = change {
                prop_assert!(!value.contains(&0));
                prop_assert!(name.len() + value.len() + 2 < MAX_ENTRY);
            }
        }
        for line in lines {
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
