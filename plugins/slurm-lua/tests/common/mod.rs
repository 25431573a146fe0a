//! A sink that keeps log lines, and engines with a script in them.
#![allow(dead_code, clippy::expect_used, clippy::panic)]

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use slurm_lua::mlua::{IntoLuaMulti, MultiValue, Value};
use slurm_lua::{Call, Engine, Failure, Level, Script, Settings, Sink};

/// Whether this Lua has integers beside floats.
pub const INTEGERS: bool = cfg!(not(any(feature = "lua51", feature = "luajit")));

/// Keeps what was logged.
#[derive(Default)]
pub struct Lines(RefCell<Vec<(Level, String)>>);

impl Sink for Lines {
    fn log(&self, level: Level, text: &[u8]) {
        let text = String::from_utf8(text.to_vec()).expect("log lines are UTF-8");
        self.0.borrow_mut().push((level, text));
    }
}

impl Lines {
    /// Takes all lines logged so far.
    pub fn take(&self) -> Vec<(Level, String)> {
        self.0.take()
    }

    /// Takes the texts of all lines logged so far.
    pub fn texts(&self) -> Vec<String> {
        self.take().into_iter().map(|(_, text)| text).collect()
    }
}

/// An engine with a script loaded, and its log.
pub struct Loaded {
    /// The engine.
    pub engine: Engine,
    /// Its log.
    pub lines: Rc<Lines>,
}

/// An engine without a script.
pub fn empty(memory_limit: Option<usize>) -> Loaded {
    let lines = Rc::new(Lines::default());
    let settings = Settings { prefix: "switch/lua".to_owned(), memory_limit };
    let engine = Engine::new(settings, lines.clone()).expect("an engine");
    Loaded { engine, lines }
}

/// A script that did not come from a file.
pub fn script(source: &str) -> Script {
    Script::from_source(Path::new("/etc/slurm/switch.lua"), source.into())
}

/// An engine with this script.
pub fn load(source: &str) -> Loaded {
    let loaded = empty(None);
    loaded.engine.load(&script(source)).expect("a loadable script");
    loaded
}

impl Loaded {
    /// Calls a function that is expected to return.
    pub fn returned(&self, name: &str, args: impl IntoLuaMulti) -> MultiValue {
        match self.engine.call(name, args) {
            Call::Returned(values) => values,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Calls a function that is expected to return a string.
    pub fn text(&self, name: &str) -> String {
        match self.returned(name, ()).pop_front() {
            Some(Value::String(text)) => text.to_string_lossy(),
            other => panic!("{name}: {other:?}"),
        }
    }

    /// Calls a function that is expected to fail.
    pub fn failed(&self, name: &str) -> Failure {
        match self.engine.call(name, ()) {
            Call::Failed(failure) => failure,
            other => panic!("{name}: {other:?}"),
        }
    }
}
