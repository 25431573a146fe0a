//! Turns the table of environment variables that a script returns into changes.
//!
//! Whether a name may be changed at all (Slurm's own `SLURM_*`) is for the caller to judge.
#![forbid(unsafe_code)]

use mlua::Value;

use crate::text::{one_line, value_number};

/// One change of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChange {
    /// Sets a variable.
    Set {
        /// Its name: not empty, without `=` and NUL.
        name: Vec<u8>,
        /// Its value, without NUL.
        value: Vec<u8>,
    },
    /// Removes a variable.
    Unset {
        /// Its name: not empty, without `=` and NUL.
        name: Vec<u8>,
    },
}

/// The longest name that is accepted, in bytes.
pub const MAX_NAME: usize = 255;
/// Linux accepts no longer `NAME=value` with its NUL in execve, and Slurm drops such a variable
/// without a word.
pub const MAX_ENTRY: usize = 131_072;
/// How many skipped entries are reported one by one.
const MAX_LINES: usize = 64;

/// The changes, sorted by name, and one line for each entry that was skipped.
///
/// Strings and numbers set a variable, `true` sets it to `1`, `false` unsets it. `nil` is no
/// change.
pub fn environment(value: &Value) -> (Vec<EnvChange>, Vec<String>) {
    let table = match value {
        Value::Table(table) => table,
        Value::Nil => return (Vec::new(), Vec::new()),
        null if null.is_null() => return (Vec::new(), Vec::new()),
        other => {
            let line =
                format!("environment is a {}, not a table: it is ignored", other.type_name());
            return (Vec::new(), vec![line]);
        }
    };
    let mut changes = Vec::new();
    let mut skipped = Vec::new();
    let mut broken = None;
    for pair in table.pairs::<Value, Value>() {
        match pair {
            Ok((name, value)) => match change(&name, &value) {
                Ok(change) => changes.push(change),
                Err(line) => skipped.push(line),
            },
            Err(error) => {
                broken = Some(one_line(
                    format!("environment cannot be read to its end: {error}").as_bytes(),
                ));
                break;
            }
        }
    }
    changes.sort_by(|a, b| a.name().cmp(b.name()));
    skipped.sort();
    if skipped.len() > MAX_LINES {
        let rest = skipped.len() - MAX_LINES;
        skipped.truncate(MAX_LINES);
        skipped.push(format!("environment: {rest} more entries are skipped"));
    }
    skipped.extend(broken);
    (changes, skipped)
}

impl EnvChange {
    /// The name of the variable.
    pub fn name(&self) -> &[u8] {
        match self {
            EnvChange::Set { name, .. } | EnvChange::Unset { name } => name,
        }
    }
}

fn change(name: &Value, value: &Value) -> Result<EnvChange, String> {
    let name = match name {
        Value::String(name) => name.as_bytes().to_vec(),
        other => {
            let key = match other {
                Value::Boolean(key) => key.to_string(),
                other => value_number(other).unwrap_or_default(),
            };
            let key = format!("{} {key}", other.type_name());
            return Err(format!(
                "environment: name is the {}, not a string: skipped",
                key.trim_end()
            ));
        }
    };
    let skip = |why: &str| Err(format!("environment variable {}: {why}: skipped", shown(&name)));
    if name.is_empty() {
        return skip("the name is empty");
    }
    if name.len() > MAX_NAME {
        return skip(&format!("the name is longer than {MAX_NAME} bytes"));
    }
    if name.contains(&b'=') {
        return skip("the name contains an equals sign");
    }
    if name.contains(&0) {
        return skip("the name contains a NUL byte");
    }
    let value = match value {
        Value::Boolean(false) => return Ok(EnvChange::Unset { name }),
        Value::Boolean(true) => b"1".to_vec(),
        Value::String(value) => value.as_bytes().to_vec(),
        Value::Number(number) if !number.is_finite() => {
            return skip("the value is not a finite number");
        }
        other => match value_number(other) {
            Some(text) => text.into_bytes(),
            None => return skip(&format!("the value is a {}", other.type_name())),
        },
    };
    if value.contains(&0) {
        return skip("the value contains a NUL byte");
    }
    if name.len() + value.len() + 2 >= MAX_ENTRY {
        return skip(&format!(
            "the value has {} bytes, more than an environment can hold",
            value.len()
        ));
    }
    Ok(EnvChange::Set { name, value })
}

/// A name as it is shown in a line, not longer than is useful.
fn shown(name: &[u8]) -> String {
    let (start, rest) = name.split_at_checked(64).unwrap_or((name, b""));
    let dots = if rest.is_empty() { "" } else { "..." };
    format!("\"{}{dots}\"", one_line(start))
}
