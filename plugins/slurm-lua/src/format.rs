//! JSON and YAML text of a [`Data`].
//!
//! Numbers: integers that fit 64 bits signed stay exact; larger ones become floats. An integral
//! float is written without `.0`. JSON has no exponents, so every reader sees plain digits. What a
//! text cannot hold is an error that names the place, never a silent loss: strings that are not
//! UTF-8, sparse lists, tables that mix string and integer keys, and for JSON NaN and infinities.
//! YAML is what YAML 1.2 readers agree on: no tags, one document; aliases are expanded up to the
//! limit of entries.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;

use serde::de::DeserializeSeed as _;
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use crate::data::{Data, Key, Limits, place};
use crate::text::{integral, number_text, one_line};

mod read;

/// The longest JSON text that is read, in bytes.
pub const MAX_JSON: usize = 64 << 20;
/// The longest YAML text that is read, in bytes.
pub const MAX_YAML: usize = 1 << 20;

/// Why a text cannot be read or written; one line that says what and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    fn new(text: &str) -> Error {
        Error(one_line(text.as_bytes()))
    }

    pub(crate) fn not_text(kind: &str) -> Error {
        Error(format!("expected a string, got {kind}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Reads one JSON value; the error names line and column.
pub fn from_json(text: &[u8], limits: Limits) -> Result<Data, Error> {
    check_size(text, MAX_JSON)?;
    let budget = read::Budget::new(limits);
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    budget
        .seed()
        .deserialize(&mut deserializer)
        .and_then(|data| deserializer.end().map(|()| data))
        .map_err(|error| Error::new(&error.to_string()))
}

/// Reads one YAML document; the error names line and column where the library knows them.
pub fn from_yaml(text: &[u8], limits: Limits) -> Result<Data, Error> {
    check_size(text, MAX_YAML)?;
    let budget = read::Budget::new(limits);
    budget
        .seed()
        .deserialize(serde_norway::Deserializer::from_slice(text))
        .map_err(|error| Error::new(&error.to_string()))
}

fn check_size(text: &[u8], limit: usize) -> Result<(), Error> {
    if text.len() > limit {
        return Err(Error(format!("text has {} bytes, more than {limit}", text.len())));
    }
    Ok(())
}

/// Writes compact JSON, maps in the order of their keys.
pub fn to_json(data: &Data) -> Result<String, Error> {
    check(data, false, &mut Vec::new())?;
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, PlainNumbers);
    Plain(data).serialize(&mut serializer).map_err(|error| Error::new(&error.to_string()))?;
    String::from_utf8(out).map_err(|error| Error::new(&error.to_string()))
}

/// Writes one YAML document.
pub fn to_yaml(data: &Data) -> Result<String, Error> {
    check(data, true, &mut Vec::new())?;
    serde_norway::to_string(&Plain(data)).map_err(|error| Error::new(&error.to_string()))
}

/// Finds what neither format can hold, so that the error can name the place.
fn check(data: &Data, infinite: bool, path: &mut Vec<Key>) -> Result<(), Error> {
    let refuse = |path: &[Key], what: &str| Err(Error(format!("value{} {what}", place(path))));
    match data {
        Data::Float(number) if !infinite && !number.is_finite() => {
            refuse(path, &format!("is {}, which JSON cannot hold", number_text(*number)))
        }
        Data::Str(bytes) if std::str::from_utf8(bytes).is_err() => {
            refuse(path, "is a string that is not UTF-8")
        }
        Data::List(items) => {
            for (n, item) in (1..).zip(items) {
                path.push(Key::Int(n));
                check(item, infinite, path)?;
                path.pop();
            }
            Ok(())
        }
        Data::Map(entries) => {
            let integers = entries.iter().filter(|(key, _)| matches!(key, Key::Int(_))).count();
            if integers > 0 && integers < entries.len() {
                return refuse(path, "is a table with both string and integer keys");
            }
            if integers > 0 {
                return refuse(
                    path,
                    "is a sparse list: fill the gaps with slurm.null, or make its keys strings",
                );
            }
            for (key, item) in entries {
                path.push(key.clone());
                if let Key::Str(name) = key
                    && std::str::from_utf8(name).is_err()
                {
                    return refuse(path, "has a name that is not UTF-8");
                }
                check(item, infinite, path)?;
                path.pop();
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A tree that [`check`] has passed.
struct Plain<'a>(&'a Data);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Data::Nil => serializer.serialize_unit(),
            Data::Bool(value) => serializer.serialize_bool(*value),
            Data::Int(value) => serializer.serialize_i64(*value),
            Data::Float(value) => match integral(*value) {
                Some(value) => serializer.serialize_i64(value),
                None => serializer.serialize_f64(*value),
            },
            Data::Str(bytes) => serializer.serialize_str(utf8(bytes)?),
            Data::List(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&Plain(item))?;
                }
                sequence.end()
            }
            Data::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, item) in entries {
                    match key {
                        Key::Int(key) => map.serialize_entry(key, &Plain(item))?,
                        Key::Str(key) => map.serialize_entry(utf8(key)?, &Plain(item))?,
                    }
                }
                map.end()
            }
        }
    }
}

fn utf8<E: serde::ser::Error>(bytes: &[u8]) -> Result<&str, E> {
    std::str::from_utf8(bytes).map_err(E::custom)
}

/// Compact JSON with floats in plain digits.
struct PlainNumbers;

impl serde_json::ser::Formatter for PlainNumbers {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number_text(value).as_bytes())
    }
}
