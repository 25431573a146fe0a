//! The arguments of the plugstack.conf line.

use std::path::PathBuf;
use std::time::Duration;

/// How a negative postfini drains the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// When the job ends, through the result of `job_epilog`; the `optional` of the line counts.
    Epilog,
    /// When the step ends, through libslurm.
    Now,
}

/// What is ended when a step is refused on one of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The step, on all its nodes.
    Step,
    /// The tasks on this node only.
    Task,
}

/// What a step does whose job cannot be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLookupFailure {
    /// It fails, if something else says that the job is managed.
    Fail,
    /// It goes on.
    Ignore,
}

/// The most talkative level of lines that reach Slurm's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // Slurm's names
pub enum Log {
    Error,
    Info,
    Verbose,
    Debug,
    Debug2,
    Debug3,
}

const LEVELS: [(&str, Log); 6] = [
    ("error", Log::Error),
    ("info", Log::Info),
    ("verbose", Log::Verbose),
    ("debug", Log::Debug),
    ("debug2", Log::Debug2),
    ("debug3", Log::Debug3),
];

/// The settings of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `script=`; without it switch.lua beside slurm.conf.
    pub script: Option<PathBuf>,
    /// `state_dir=`.
    pub state_dir: PathBuf,
    /// `drain=`.
    pub drain: Drain,
    /// `on_failure=`.
    pub on_failure: OnFailure,
    /// `on_lookup_failure=`.
    pub on_lookup_failure: OnLookupFailure,
    /// `timeout=`, for each call of a function and for loading the script.
    pub timeout: Duration,
    /// `log=`.
    pub log: Log,
}

/// Where the records of a node lie unless the line says otherwise.
pub const STATE_DIR: &str = "/run/spank-switch-lua";

/// The longest `timeout=`.
const LONGEST: u64 = 24 * 60 * 60;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            script: None,
            state_dir: STATE_DIR.into(),
            drain: Drain::Epilog,
            on_failure: OnFailure::Step,
            on_lookup_failure: OnLookupFailure::Fail,
            timeout: Duration::from_secs(30),
            log: Log::Debug3,
        }
    }
}

impl Settings {
    /// Reads the arguments. Each bad one gives a line and leaves its default; the caller refuses
    /// the steps of managed jobs if there is any.
    pub fn parse<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> (Settings, Vec<String>) {
        let mut settings = Settings::default();
        let mut errors = Vec::new();
        for argument in arguments {
            if let Err(reason) = settings.take(argument) {
                errors.push(format!(
                    "plugstack.conf argument \"{}\": {reason}",
                    argument.escape_ascii()
                ));
            }
        }
        (settings, errors)
    }

    fn take(&mut self, argument: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(argument).map_err(|_| "not UTF-8".to_owned())?;
        if text.ends_with('\r') {
            return Err("ends in a carriage return: the file has DOS line ends, remove them".into());
        }
        let Some((key, value)) = text.split_once('=') else {
            return Err(format!("not of the form key=value; the keys are {KEYS}"));
        };
        match key {
            "script" => self.script = Some(absolute(value)?),
            "state_dir" => self.state_dir = absolute(value)?,
            "drain" => {
                self.drain = one_of(value, &[("epilog", Drain::Epilog), ("now", Drain::Now)])?;
            }
            "on_failure" => {
                let values = [("step", OnFailure::Step), ("task", OnFailure::Task)];
                self.on_failure = one_of(value, &values)?;
            }
            "on_lookup_failure" => {
                let values = [("fail", OnLookupFailure::Fail), ("ignore", OnLookupFailure::Ignore)];
                self.on_lookup_failure = one_of(value, &values)?;
            }
            "timeout" => self.timeout = seconds(value)?,
            "log" => self.log = one_of(value, &LEVELS)?,
            _ => return Err(format!("no such key; the keys are {KEYS}")),
        }
        Ok(())
    }
}

const KEYS: &str = "script, state_dir, drain, on_failure, on_lookup_failure, timeout and log";

fn absolute(value: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(value);
    let plain = path.is_absolute()
        && path.components().all(|part| !matches!(part, std::path::Component::ParentDir));
    if plain { Ok(path) } else { Err("not an absolute path without `..`".into()) }
}

fn one_of<T: Copy>(value: &str, values: &[(&str, T)]) -> Result<T, String> {
    values.iter().find(|(name, _)| *name == value).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        format!("not one of {}", names.join(", "))
    })
}

fn seconds(value: &str) -> Result<Duration, String> {
    match value.parse::<u64>() {
        Ok(seconds) if (1..=LONGEST).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("not a whole number of seconds from 1 to {LONGEST}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(words: &[&str]) -> (Settings, Vec<String>) {
        Settings::parse(words.iter().map(|word| word.as_bytes()))
    }

    #[test]
    fn every_key_is_read() {
        let (settings, errors) = parse(&[
            "script=/etc/slurm/s.lua",
            "state_dir=/run/x",
            "drain=now",
            "on_failure=task",
            "on_lookup_failure=ignore",
            "timeout=5",
            "log=info",
        ]);
        assert_eq!(errors, Vec::<String>::new());
        let expected = Settings {
            script: Some("/etc/slurm/s.lua".into()),
            state_dir: "/run/x".into(),
            drain: Drain::Now,
            on_failure: OnFailure::Task,
            on_lookup_failure: OnLookupFailure::Ignore,
            timeout: Duration::from_secs(5),
            log: Log::Info,
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_bad_argument_gets_one_line_that_names_it_and_the_mend() {
        let cases = [
            ("drian=now", "no such key; the keys are script"),
            ("drain=later", "not one of epilog, now"),
            ("timeout=0", "not a whole number of seconds from 1 to 86400"),
            ("timeout=-1", "not a whole number"),
            ("script=switch.lua", "not an absolute path"),
            ("state_dir=/run/../etc", "not an absolute path"),
            ("verbose", "not of the form key=value"),
            ("log=info\r", "carriage return"),
        ];
        for (word, reason) in cases {
            let (settings, errors) = parse(&[word]);
            assert_eq!(errors.len(), 1, "{word}");
            assert!(errors[0].contains(reason), "{}", errors[0]);
            assert!(errors[0].contains(&word.escape_default().to_string()), "{}", errors[0]);
            assert_eq!(settings, Settings::default());
        }
    }

    proptest! {
        #[test]
        fn no_argument_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let (_, errors) = Settings::parse([bytes.as_slice()].into_iter());
            prop_assert!(errors.iter().all(|line| !line.chars().any(char::is_control)));
        }
    }
}
