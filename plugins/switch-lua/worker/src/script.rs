//! One loaded switch.lua: what it defines, and calls of its functions.
#![forbid(unsafe_code)]

use std::path::Path;
use std::rc::Rc;

use slurm_lua::mlua::{Lua, Table, Value};
use slurm_lua::{Answer, Call, Defined, Engine, EnvChange, Failure, Settings, Sink, Trust, env};
use switch_lua_core::PREFIX;
use switch_lua_core::wire::{self, Change, Function, Level, Reply, SPECIAL_STEPS, Step, StepId};

use crate::Replies;

/// How much memory Lua may hold. A script that keeps state keeps it in the interconnect.
const MEMORY_LIMIT: usize = 512 << 20;

/// Sends the script's log lines to the plug-in.
struct ToPlugin(Rc<Replies>);

impl Sink for ToPlugin {
    fn log(&self, level: slurm_lua::Level, text: &[u8]) {
        let level = match level {
            slurm_lua::Level::Error => Level::Error,
            slurm_lua::Level::Info => Level::Info,
            slurm_lua::Level::Verbose => Level::Verbose,
            slurm_lua::Level::Debug => Level::Debug,
            slurm_lua::Level::Debug2 => Level::Debug2,
            slurm_lua::Level::Debug3 => Level::Debug3,
            slurm_lua::Level::Debug4 => Level::Debug4,
        };
        self.0.send(&Reply::Log { level, text: text.into() });
    }
}

/// A loaded script.
pub struct Script {
    engine: Engine,
    replies: Rc<Replies>,
}

impl Script {
    /// Loads a script that root wrote and nobody else can change.
    ///
    /// # Errors
    /// One line that says why it cannot be loaded.
    pub fn load(path: &Path, replies: &Rc<Replies>) -> Result<(Script, Reply), String> {
        let source = slurm_lua::Script::read(path, &Trust { owners: vec![0] })
            .map_err(|error| error.to_string())?;
        let settings = Settings { prefix: PREFIX.to_owned(), memory_limit: Some(MEMORY_LIMIT) };
        let engine = Engine::new(settings, Rc::new(ToPlugin(Rc::clone(replies))))
            .map_err(|error| error.to_string())?;
        engine.load(&source).map_err(|error| error.to_string())?;
        let script = Script { engine, replies: Rc::clone(replies) };
        let functions = Function::ALL.into_iter().filter(|f| script.defines(f.name())).collect();
        let special_steps = script.defines(SPECIAL_STEPS) && script.special_steps();
        Ok((script, Reply::Loaded { functions, special_steps }))
    }

    fn say(&self, level: Level, text: &str) {
        self.replies.send(&Reply::Log { level, text: text.as_bytes().into() });
    }

    fn defines(&self, name: &str) -> bool {
        match self.engine.defines(name) {
            Defined::Yes => true,
            Defined::No => false,
            Defined::NotAFunction(kind) => {
                let text =
                    format!("{PREFIX}: {name} is of type {kind} and no function: it is not called");
                self.say(Level::Error, &text);
                false
            }
        }
    }

    /// Anything but `true` counts as false, and whatever is no boolean is told.
    fn special_steps(&self) -> bool {
        match self.engine.call(SPECIAL_STEPS, ()) {
            Call::Returned(values) => match values.front() {
                Some(Value::Boolean(answer)) => *answer,
                None | Some(Value::Nil) => false,
                Some(other) => {
                    let kind = other.type_name();
                    let text = format!(
                        "{PREFIX}: {SPECIAL_STEPS}: returned {kind} and not a boolean: counts as false"
                    );
                    self.say(Level::Error, &text);
                    false
                }
            },
            Call::Failed(failure) => {
                self.failed(SPECIAL_STEPS, &failure);
                false
            }
            Call::Undefined => false,
        }
    }

    /// Logs a Lua error: message, then traceback.
    fn failed(&self, name: &str, failure: &Failure) {
        self.say(Level::Error, &format!("{PREFIX}: {name}: {}", failure.message));
        if !failure.traceback.is_empty() {
            let frames = failure.traceback.join(" | ");
            self.say(Level::Error, &format!("{PREFIX}: {name}: traceback: {frames}"));
        }
    }

    /// Calls one function with `step` and no stepinfo.
    pub fn call(&self, function: Function, step: &Step) -> Reply {
        let name = function.name();
        let table = match table_of(self.engine.lua(), step) {
            Ok(table) => table,
            Err(error) => return done(wire::Answer::Error(error.to_string().into_bytes().into())),
        };
        match self.engine.call(name, (table, Value::Nil)) {
            Call::Undefined => done(wire::Answer::Undefined),
            Call::Failed(failure) => {
                self.failed(name, &failure);
                done(wire::Answer::Error(failure.message.into_bytes().into()))
            }
            Call::Returned(values) => {
                let answer = match Answer::of(&values) {
                    Answer::Zero => wire::Answer::Zero,
                    Answer::Negative(number) => wire::Answer::Negative(number),
                    Answer::Positive(number) => wire::Answer::Positive(number),
                    Answer::NotANumber(kind) => wire::Answer::NotANumber(kind.to_owned()),
                };
                let environment = match (function, values.get(1)) {
                    (Function::StepInit, Some(table)) => self.environment(name, table),
                    _ => Vec::new(),
                };
                Reply::Done { answer, environment }
            }
        }
    }

    fn environment(&self, name: &str, table: &Value) -> Vec<Change> {
        let (changes, skipped) = env::environment(table);
        for line in skipped {
            self.say(Level::Error, &format!("{PREFIX}: {name}: {line}"));
        }
        changes
            .into_iter()
            .map(|change| match change {
                EnvChange::Set { name, value } => {
                    Change::Set { name: name.into(), value: value.into() }
                }
                EnvChange::Unset { name } => Change::Unset { name: name.into() },
            })
            .collect()
    }
}

fn done(answer: wire::Answer) -> Reply {
    Reply::Done { answer, environment: Vec::new() }
}

/// The `step` that the script gets.
fn table_of(lua: &Lua, step: &Step) -> slurm_lua::mlua::Result<Table> {
    let table = lua.create_table()?;
    table.set("job_id", step.job_id)?;
    for (name, text) in [("partition", &step.partition), ("network", &step.network)] {
        if let Some(text) = text {
            table.set(name, lua.create_string(text.as_bytes())?)?;
        }
    }
    table.set("sluid", step.sluid.as_deref())?;
    match &step.step_id {
        StepId::Number(number) => table.set("step_id", *number)?,
        StepId::Name(name) => table.set("step_id", name.as_str())?,
    }
    table.set("node", step.node.as_str())?;
    table.set("orphans", step.orphans)?;
    Ok(table)
}
