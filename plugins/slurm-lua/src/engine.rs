//! One Lua state with one site's script in it.
#![forbid(unsafe_code)]

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Value};

use crate::failure::Failure;
use crate::level::Sink;
use crate::load_error::LoadError;
use crate::script::Script;
use crate::stdlib::{self, Voice};
use crate::text::{one_line, value_number};
use crate::{Answer, state};

/// What an engine needs to know from its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What every log line begins with, `switch/lua` for instance.
    pub prefix: String,
    /// How much memory Lua may hold, in bytes.
    pub memory_limit: Option<usize>,
}

/// Why there is no engine; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot create a Lua state: {}", self.0)
    }
}

impl std::error::Error for Error {}

/// Whether a script defines a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defined {
    /// It does.
    Yes,
    /// There is no global of that name.
    No,
    /// The global of that name is something else, of this type.
    NotAFunction(&'static str),
}

/// What became of a call.
#[derive(Clone, Debug)]
pub enum Call {
    /// The script does not define the function.
    Undefined,
    /// What it returned; values beyond the sixteenth are dropped.
    Returned(MultiValue),
    /// It raised an error.
    Failed(Failure),
}

/// A Lua state prepared for scripts.
pub struct Engine {
    lua: Lua,
    protected_call: Function,
    voice: Rc<Voice>,
    memory_limit: Option<usize>,
}

/// The function name in log lines while the script's top level runs.
const TOP_LEVEL: &str = "load";

impl Engine {
    /// A new state without a script. It fails for lack of memory only.
    pub fn new(settings: Settings, sink: Rc<dyn Sink>) -> Result<Engine, Error> {
        let wrong = |text: String| Error(one_line(text.as_bytes()));
        let voice = Rc::new(Voice::new(settings.prefix, sink));
        let (lua, protected_call) = caught(|| {
            let lua = state::new()?;
            let protected_call = stdlib::install(&lua, Rc::clone(&voice))?;
            if let Some(limit) = settings.memory_limit {
                lua.set_memory_limit(limit)?;
            }
            Ok((lua, protected_call))
        })
        .map_err(wrong)?
        .map_err(|error: mlua::Error| wrong(error.to_string()))?;
        Ok(Engine { lua, protected_call, voice, memory_limit: settings.memory_limit })
    }

    /// The state itself, for adding to what a script sees and for reading what it left.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Checks the syntax without running anything.
    pub fn compile_only(&self, script: &Script) -> Result<(), LoadError> {
        self.compile(script).map(drop)
    }

    /// Compiles the script and runs its top level.
    ///
    /// It fails if the top level raises an error or returns a number other than 0 first; any other
    /// value, or none, is fine.
    pub fn load(&self, script: &Script) -> Result<(), LoadError> {
        let function = self.compile(script)?;
        let path = script.path.clone();
        match self.run(TOP_LEVEL, function, ()) {
            Err(failure) => Err(LoadError::Failed { path, failure }),
            Ok(values) => match Answer::of(&values) {
                Answer::Negative(number) | Answer::Positive(number) => {
                    Err(LoadError::Returned { path, number })
                }
                Answer::Zero | Answer::NotANumber(_) => Ok(()),
            },
        }
    }

    /// Whether the script defines this function.
    pub fn defines(&self, name: &str) -> Defined {
        match self.global(name) {
            Value::Function(_) => Defined::Yes,
            Value::Nil => Defined::No,
            other => Defined::NotAFunction(other.type_name()),
        }
    }

    /// Calls a function of the script. A global of that name that is no function is not called.
    pub fn call(&self, name: &str, args: impl IntoLuaMulti) -> Call {
        let Value::Function(function) = self.global(name) else {
            return Call::Undefined;
        };
        match self.run(name, function, args) {
            Ok(values) => Call::Returned(values),
            Err(failure) => {
                self.recover(&failure);
                Call::Failed(failure)
            }
        }
    }

    /// A global variable, or nil. Scripts that make undefined globals an error, as strict.lua
    /// does, get no error from being asked.
    fn global(&self, name: &str) -> Value {
        let look_up = || {
            let globals = self.lua.globals();
            match globals.raw_get(name) {
                Ok(Value::Nil) | Err(_) => globals.get(name).unwrap_or(Value::Nil),
                Ok(value) => value,
            }
        };
        caught(look_up).unwrap_or(Value::Nil)
    }

    fn compile(&self, script: &Script) -> Result<Function, LoadError> {
        let path = &script.path;
        if script.is_binary() {
            return Err(LoadError::Binary { path: path.clone() });
        }
        let compile = || {
            self.lua
                .load(script.text())
                .set_name(format!("@{}", path.display()))
                .set_mode(ChunkMode::Text)
                .into_function()
        };
        match caught(compile) {
            Ok(Ok(function)) => Ok(function),
            Ok(Err(mlua::Error::SyntaxError { message, .. })) => {
                Err(LoadError::syntax(path, &message))
            }
            Ok(Err(error)) => Err(LoadError::Failed {
                path: path.clone(),
                failure: Failure::from_mlua(&error, self.memory_limit),
            }),
            Err(panic) => {
                Err(LoadError::Failed { path: path.clone(), failure: Failure::plain(&panic) })
            }
        }
    }

    fn run(
        &self,
        name: &str,
        function: Function,
        args: impl IntoLuaMulti,
    ) -> Result<MultiValue, Failure> {
        let _running = Running::new(&self.voice, name);
        let call = || {
            let mut args = args.into_lua_multi(&self.lua)?;
            args.push_front(Value::Function(function));
            self.protected_call.call::<MultiValue>(args)
        };
        let mut values = caught(call)
            .map_err(|panic| Failure::plain(&panic))?
            .map_err(|error| Failure::from_mlua(&error, self.memory_limit))?;
        if let Some(Value::Boolean(true)) = values.pop_front() {
            return Ok(values);
        }
        let mut bytes = || match values.pop_front() {
            Some(Value::String(text)) => text.as_bytes().to_vec(),
            other => other.as_ref().and_then(value_number).unwrap_or_default().into_bytes(),
        };
        let (text, kind, trace) = (bytes(), bytes(), bytes());
        let kind = String::from_utf8_lossy(&kind);
        Err(Failure::new(&text, &kind, &trace, self.memory_limit))
    }

    /// Lua 5.1 and LuaJIT do not collect garbage when an allocation fails: without this the next
    /// call would fail on what the last one left.
    fn recover(&self, failure: &Failure) {
        if failure.is_memory() {
            // A finalizer that fails here has nobody to tell.
            let _ = caught(|| self.lua.gc_collect());
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("memory_limit", &self.memory_limit).finish_non_exhaustive()
    }
}

/// Names a function in log lines for as long as it runs.
struct Running<'a> {
    voice: &'a Voice,
    before: Option<Rc<str>>,
}

impl<'a> Running<'a> {
    fn new(voice: &'a Voice, function: &str) -> Running<'a> {
        Running { voice, before: voice.enter(Some(Rc::from(function))) }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.voice.enter(self.before.take());
    }
}

/// mlua passes panics of Rust callbacks on and panics itself in corners such as exhausted
/// reference slots: neither may reach a daemon.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("panic");
        format!("internal error: {text}")
    })
}
