//! Installs the script environment: the Rust half of what `stdlib.lua` sets up.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Function, Lua, LuaString, Table, Value};

use crate::data::{self, Data, Limits};
use crate::format;
use crate::level::{Level, Sink};
use crate::text::log_line;

/// Name shown by Lua for code of ours; `failure.rs` drops frames with it.
const CHUNK: &str = "=[slurm-lua]";

/// Writes the log lines of one engine, each with the function that is running.
pub(crate) struct Voice {
    prefix: String,
    sink: Rc<dyn Sink>,
    function: RefCell<Option<Rc<str>>>,
}

impl Voice {
    pub(crate) fn new(prefix: String, sink: Rc<dyn Sink>) -> Voice {
        Voice { prefix, sink, function: RefCell::new(None) }
    }

    /// Names the function that runs from now on; gives the one that ran until now.
    pub(crate) fn enter(&self, function: Option<Rc<str>>) -> Option<Rc<str>> {
        self.function.replace(function)
    }

    fn say(&self, level: Level, text: &[u8]) {
        let mut line = self.prefix.clone().into_bytes();
        // The borrow ends here: a sink may run code that comes back to this engine.
        let function = self.function.borrow().clone();
        if let Some(function) = function {
            line.extend_from_slice(b": ");
            line.extend_from_slice(function.as_bytes());
        }
        line.extend_from_slice(b": ");
        line.extend_from_slice(text.strip_suffix(b"\n").unwrap_or(text));
        self.sink.log(level, log_line(&line).as_bytes());
    }
}

/// Sets the environment up and gives the function that makes protected calls.
pub(crate) fn install(lua: &Lua, voice: Rc<Voice>) -> mlua::Result<Function> {
    let emit = lua.create_function(move |_, (level, text): (i64, LuaString)| {
        let level = Level::from_number(level).unwrap_or(Level::Error);
        voice.say(level, &text.as_bytes());
        Ok(())
    })?;
    let levels = lua.create_table()?;
    for level in Level::ALL {
        levels.raw_set(level.name(), level.number())?;
    }
    let multiarch = multiarch();
    lua.load(include_str!("stdlib.lua")).set_name(CHUNK).call((
        emit,
        levels,
        conversions(lua)?,
        data::array_metatable(lua)?,
        constants(lua)?,
        multiarch,
    ))
}

/// Debian's directory for libraries of this machine.
fn multiarch() -> String {
    format!("{}-linux-gnu", std::env::consts::ARCH)
}

fn constants(lua: &Lua) -> mlua::Result<Table> {
    let constants = lua.create_table()?;
    constants.raw_set("SUCCESS", 0)?;
    constants.raw_set("ERROR", -1)?;
    constants.raw_set("FAILURE", -1)?;
    constants.raw_set("EAGAIN", rustix::io::Errno::AGAIN.raw_os_error())?;
    constants.raw_set("null", Value::NULL)?;
    Ok(constants)
}

/// The four conversions; each gives `true, result` or `false, message`.
fn conversions(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    table.raw_set("to_json", writer(lua, format::to_json)?)?;
    table.raw_set("to_yaml", writer(lua, format::to_yaml)?)?;
    table.raw_set("from_json", reader(lua, format::from_json)?)?;
    table.raw_set("from_yaml", reader(lua, format::from_yaml)?)?;
    Ok(table)
}

type Answer = (bool, Value);

fn writer(lua: &Lua, write: fn(&Data) -> Result<String, format::Error>) -> mlua::Result<Function> {
    lua.create_function(move |lua, value: Value| -> mlua::Result<Answer> {
        let text = match Data::from_lua(lua, &value, Limits::default()) {
            Ok(data) => write(&data).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match text {
            Ok(text) => Ok((true, Value::String(lua.create_string(text)?))),
            Err(message) => Ok((false, Value::String(lua.create_string(message)?))),
        }
    })
}

fn reader(
    lua: &Lua,
    read: fn(&[u8], Limits) -> Result<Data, format::Error>,
) -> mlua::Result<Function> {
    lua.create_function(move |lua, value: Value| -> mlua::Result<Answer> {
        let data = match &value {
            Value::String(text) => read(&text.as_bytes(), Limits::default()),
            other => Err(format::Error::not_text(other.type_name())),
        };
        match data {
            Ok(data) => Ok((true, data.to_lua(lua)?)),
            Err(error) => Ok((false, Value::String(lua.create_string(error.to_string())?))),
        }
    })
}
