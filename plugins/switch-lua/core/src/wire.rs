//! What the plug-in and its worker say to each other: one JSON value a line, over two pipes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::record::JobInfo;

/// The version of what stands in this file. Plug-in and worker are installed together, but a running
/// slurmstepd keeps the plug-in it loaded.
pub const VERSION: u32 = 1;

/// The functions of the script that run on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// `slurm_switch_step_preinit`.
    StepPreinit,
    /// `slurm_switch_step_init`.
    StepInit,
    /// `slurm_switch_step_postfini`.
    StepPostfini,
}

impl Function {
    /// The step functions in the order they run.
    pub const ALL: [Function; 3] =
        [Function::StepPreinit, Function::StepInit, Function::StepPostfini];

    /// The global's name in the script.
    pub fn name(self) -> &'static str {
        match self {
            Function::StepPreinit => "slurm_switch_step_preinit",
            Function::StepInit => "slurm_switch_step_init",
            Function::StepPostfini => "slurm_switch_step_postfini",
        }
    }
}

/// The script's question whether batch and interactive steps are to be set up.
pub const SPECIAL_STEPS: &str = "slurm_switch_setup_special_steps";

/// Text that need not be UTF-8: environment values, messages of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// As it is.
    Utf8(String),
    /// Byte by byte.
    Bytes(Vec<u8>),
}

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Utf8(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Text {
        String::from_utf8(bytes).map_or_else(|e| Text::Bytes(e.into_bytes()), Text::Utf8)
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Text {
        bytes.to_vec().into()
    }
}

/// What the script's functions get as `step`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The job's id; of a het component or an array task, its own.
    pub job_id: u32,
    /// The partition, if known.
    pub partition: Option<Text>,
    /// What the job asked for with `--network`, if known.
    pub network: Option<Text>,
    /// Slurm's unique id of the run, where the release has one.
    pub sluid: Option<String>,
    /// The step.
    pub step_id: StepId,
    /// The node's name in slurm.conf.
    pub node: String,
    /// How many processes of the step were still alive and had to be killed; only where the epilog
    /// makes up for a slurmstepd that died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphans: Option<u32>,
}

impl Step {
    /// Takes over what is known of the job.
    pub fn know(&mut self, info: &JobInfo) {
        self.partition.clone_from(&info.partition);
        self.network.clone_from(&info.network);
        self.sluid.clone_from(&info.sluid);
    }
}

/// A step's id as a script sees it: a number, or the name of a special step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StepId {
    /// A normal step.
    Number(u32),
    /// `batch` or `interactive`.
    Name(String),
}

/// From the plug-in to the worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Read the script and run its top level; the first request.
    Load {
        /// What the plug-in speaks: [`VERSION`].
        version: u32,
        /// The script.
        script: PathBuf,
    },
    /// Call one function.
    Call {
        /// Which.
        function: Function,
        /// Its first argument.
        step: Step,
    },
    /// End, and leave alone what the script has started. A worker whose requests just stop is killed
    /// with all of that.
    Finish,
}

/// A level of Slurm's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // Slurm's names
pub enum Level {
    Error,
    Info,
    Verbose,
    Debug,
    Debug2,
    Debug3,
    Debug4,
}

/// One change of the step's environment that the script asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Set a variable.
    Set {
        /// Its name.
        name: Text,
        /// Its value.
        value: Text,
    },
    /// Remove a variable.
    Unset {
        /// Its name.
        name: Text,
    },
}

/// What a function of the script answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The script does not define the function.
    Undefined,
    /// 0.
    Zero,
    /// A number above 0 (or not a number in the sense of arithmetic), as text.
    Positive(String),
    /// A number below 0, as text.
    Negative(String),
    /// Something else; its type, or `nothing`.
    NotANumber(String),
    /// A Lua error; the worker has logged message and traceback.
    Error(Text),
}

/// From the worker to the plug-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// A line for the log.
    Log {
        /// At which level.
        level: Level,
        /// The line.
        text: Text,
    },
    /// The script is loaded.
    Loaded {
        /// Which step functions it defines.
        functions: Vec<Function>,
        /// What it answered to [`SPECIAL_STEPS`]; an error or no such function counts as false.
        special_steps: bool,
    },
    /// The script cannot be loaded, and why.
    NotLoaded {
        /// One line.
        reason: String,
    },
    /// A call has ended.
    Done {
        /// What it answered.
        answer: Answer,
        /// The environment it asked for (step_init only).
        environment: Vec<Change>,
    },
    /// The process that runs the script has ended; said by its guard, as the last reply.
    Ended {
        /// How, such as `killed by signal 11`.
        how: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_utf8_survives() {
        for bytes in [&b"plain"[..], b"\xff\0\n\"", b""] {
            let text = Text::from(bytes);
            let line = serde_json::to_string(&text).unwrap();
            assert!(!line.contains('\n'));
            let back: Text = serde_json::from_str(&line).unwrap();
            assert_eq!(back.as_bytes(), bytes);
        }
    }
}
