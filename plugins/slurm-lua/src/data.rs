//! Values between Lua and text: an own tree, so that nothing is lost or guessed on the way.
//!
//! Rules for tables:
//! - a table with the keys 1 to n and no others is a list, any other table is a map;
//! - the empty table `{}` is a map; `slurm.array({})` is the empty list, and lists made from text
//!   are marked the same way, so `[]` and `{}` survive a round trip;
//! - `slurm.null` stands for JSON's null: lists made from text hold it to keep positions, maps made
//!   from text leave a null field out, and both can be written with it;
//! - metatables other than the mark of `slurm.array` are ignored: fields are read raw.
#![forbid(unsafe_code)]

use std::ffi::c_void;
use std::fmt::{self, Write as _};

use mlua::{Lua, Table, Value};

use crate::text::one_line;

/// A value that Lua, JSON, YAML and a wire format can all hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `nil`, `slurm.null`, null.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number, integers beyond 64 bits included.
    Float(f64),
    /// A string, of any bytes.
    Str(Vec<u8>),
    /// A table with keys 1 to n.
    List(Vec<Data>),
    /// A table with any other keys, sorted when it comes from Lua.
    Map(Vec<(Key, Data)>),
}

/// The key of an entry of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// An integer key.
    Int(i64),
    /// A string key, of any bytes.
    Str(Vec<u8>),
}

/// How large a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many tables may lie inside each other.
    pub depth: usize,
    /// How many entries all tables may have together.
    pub entries: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { depth: 64, entries: 1_000_000 }
    }
}

/// Why a Lua value has no place in a [`Data`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unconvertible {
    /// A value of a type that is not data.
    Type {
        /// Where it is.
        at: String,
        /// Its type.
        kind: &'static str,
    },
    /// A key that is neither a string nor an integer.
    Key {
        /// The table.
        at: String,
        /// The type of the key.
        kind: &'static str,
    },
    /// A table that contains itself.
    Cycle {
        /// Where it comes up again.
        at: String,
    },
    /// A table marked with `slurm.array` that has other keys than 1 to n.
    NotAList {
        /// The table.
        at: String,
    },
    /// Too many tables inside each other.
    Depth {
        /// The first table beyond the limit.
        at: String,
        /// The limit.
        limit: usize,
    },
    /// Too many entries in all.
    Entries {
        /// The limit.
        limit: usize,
    },
    /// Lua itself failed, as a rule for lack of memory.
    Lua(String),
}

impl fmt::Display for Unconvertible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unconvertible::Type { at, kind } => write!(f, "value{at} is a {kind}"),
            Unconvertible::Key { at, kind } => write!(
                f,
                "table{at} has a key that is a {kind}: only strings and integers can be keys"
            ),
            Unconvertible::Cycle { at } => write!(f, "table{at} contains itself"),
            Unconvertible::NotAList { at } => {
                write!(f, "table{at} is a slurm.array with other keys than 1 to n")
            }
            Unconvertible::Depth { at, limit } => {
                write!(f, "table{at} lies deeper than {limit} levels")
            }
            Unconvertible::Entries { limit } => {
                write!(f, "value has more than {limit} entries")
            }
            Unconvertible::Lua(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Unconvertible {}

impl From<mlua::Error> for Unconvertible {
    fn from(error: mlua::Error) -> Unconvertible {
        Unconvertible::Lua(one_line(error.to_string().as_bytes()))
    }
}

impl Data {
    /// Reads a Lua value. Entries of a map come sorted: integer keys first, then strings.
    pub fn from_lua(lua: &Lua, value: &Value, limits: Limits) -> Result<Data, Unconvertible> {
        let mut reader = Reader {
            array: array_metatable(lua)?.to_pointer(),
            limits,
            entries: 0,
            path: Vec::new(),
            open: Vec::new(),
        };
        reader.value(value)
    }

    /// Makes the Lua value. Lists are marked as `slurm.array` does; `Nil` in a map is left out.
    pub fn to_lua(&self, lua: &Lua) -> mlua::Result<Value> {
        build(lua, self, &array_metatable(lua)?, 0)
    }
}

/// The metatable that marks lists in this state.
pub(crate) fn array_metatable(lua: &Lua) -> mlua::Result<Table> {
    const NAME: &str = "slurm-lua array";
    if let Value::Table(table) = lua.named_registry_value(NAME)? {
        return Ok(table);
    }
    let table = lua.create_table()?;
    lua.set_named_registry_value(NAME, &table)?;
    Ok(table)
}

/// Rust's stack bounds this: whoever built the tree may not have had limits.
const BUILD_DEPTH: usize = 256;

fn build(lua: &Lua, data: &Data, array: &Table, depth: usize) -> mlua::Result<Value> {
    if depth > BUILD_DEPTH {
        return Err(mlua::Error::runtime(format!(
            "value has tables deeper than {BUILD_DEPTH} levels"
        )));
    }
    Ok(match data {
        Data::Nil => Value::Nil,
        Data::Bool(value) => Value::Boolean(*value),
        Data::Int(value) => Value::Integer(*value),
        Data::Float(value) => Value::Number(*value),
        Data::Str(bytes) => Value::String(lua.create_string(bytes)?),
        Data::List(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for item in items {
                match build(lua, item, array, depth + 1)? {
                    Value::Nil => table.raw_push(Value::NULL)?,
                    value => table.raw_push(value)?,
                }
            }
            table.set_metatable(Some(array.clone()))?;
            Value::Table(table)
        }
        Data::Map(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (key, item) in entries {
                let value = build(lua, item, array, depth + 1)?;
                match key {
                    Key::Int(key) => table.raw_set(*key, value)?,
                    Key::Str(key) => table.raw_set(lua.create_string(key)?, value)?,
                }
            }
            Value::Table(table)
        }
    })
}

struct Reader {
    array: *const c_void,
    limits: Limits,
    entries: usize,
    path: Vec<Key>,
    /// The tables we are in, against cycles.
    open: Vec<*const c_void>,
}

impl Reader {
    fn value(&mut self, value: &Value) -> Result<Data, Unconvertible> {
        Ok(match value {
            Value::Nil => Data::Nil,
            null if null.is_null() => Data::Nil,
            Value::Boolean(value) => Data::Bool(*value),
            Value::Integer(value) => Data::Int(*value),
            Value::Number(value) => Data::Float(*value),
            Value::String(value) => Data::Str(value.as_bytes().to_vec()),
            Value::Table(table) => self.table(table)?,
            other => {
                return Err(Unconvertible::Type { at: self.at(), kind: other.type_name() });
            }
        })
    }

    fn table(&mut self, table: &Table) -> Result<Data, Unconvertible> {
        let pointer = table.to_pointer();
        if self.open.contains(&pointer) {
            return Err(Unconvertible::Cycle { at: self.at() });
        }
        if self.open.len() >= self.limits.depth {
            return Err(Unconvertible::Depth { at: self.at(), limit: self.limits.depth });
        }
        self.open.push(pointer);
        let mut entries = Vec::new();
        // Each step is a call of its own: nested iterations do not add up on Lua's C stack, and
        // only one value per level is held in mlua's limited store of references.
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(Unconvertible::Entries { limit: self.limits.entries });
            }
            self.path.push(self.key(&key)?);
            let data = self.value(&value)?;
            if let Some(key) = self.path.pop() {
                entries.push((key, data));
            }
        }
        self.open.pop();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.shape(table, entries)
    }

    /// List or map.
    fn shape(&self, table: &Table, entries: Vec<(Key, Data)>) -> Result<Data, Unconvertible> {
        let marked =
            table.metatable().is_some_and(|metatable| metatable.to_pointer() == self.array);
        let counts = (1..).zip(&entries).all(|(n, (key, _))| *key == Key::Int(n));
        if counts && (marked || !entries.is_empty()) {
            return Ok(Data::List(entries.into_iter().map(|(_, data)| data).collect()));
        }
        if marked {
            return Err(Unconvertible::NotAList { at: self.at() });
        }
        Ok(Data::Map(entries))
    }

    fn key(&self, key: &Value) -> Result<Key, Unconvertible> {
        match key {
            Value::Integer(key) => Ok(Key::Int(*key)),
            Value::String(key) => Ok(Key::Str(key.as_bytes().to_vec())),
            other => Err(Unconvertible::Key { at: self.at(), kind: other.type_name() }),
        }
    }

    fn at(&self) -> String {
        place(&self.path)
    }
}

/// ` at .a["b c"][3]`, or nothing for the outermost value.
pub(crate) fn place(path: &[Key]) -> String {
    let mut text = String::new();
    for key in path {
        if text.is_empty() {
            text.push_str(" at ");
        }
        let _ = match key {
            Key::Int(index) => write!(text, "[{index}]"),
            Key::Str(name) if is_name(name) => write!(text, ".{}", String::from_utf8_lossy(name)),
            Key::Str(name) => write!(text, "[\"{}\"]", one_line(name)),
        };
    }
    one_line(text.as_bytes())
}

fn is_name(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| !byte.is_ascii_digit())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
