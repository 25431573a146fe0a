//! One line per hook: `key=value` words, for tests to read.
//!
//! A value is what Slurm answered, `-` for nothing (not set, not given, no such task), or `!` and the
//! name of the error.

use std::fmt::Display;

use spank::{Code, Error, Result};

/// A line in the making.
pub struct Line(String);

impl Line {
    pub fn new(hook: &str, context: &str, step: &str) -> Line {
        let mut line = Line(String::new());
        line.word("hook", hook);
        line.word("context", context);
        line.word("step", step);
        line
    }

    /// The line's text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Adds a word; bytes that would end it are escaped.
    pub fn word(&mut self, key: &str, value: impl Display) {
        let value = value.to_string().as_bytes().escape_ascii().to_string().replace(' ', "\\x20");
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0.push_str(&format!("{key}={value}"));
    }

    /// Adds an answer.
    pub fn answer(&mut self, key: &str, answer: Result<impl Display>) {
        match answer {
            Ok(value) => self.word(key, value),
            Err(error) => self.word(key, format_args!("!{}", name(&error))),
        }
    }

    /// Adds an answer that can be nothing.
    pub fn maybe(&mut self, key: &str, answer: Result<Option<impl Display>>) {
        match answer {
            Ok(None) => self.word(key, "-"),
            Ok(Some(value)) => self.word(key, value),
            Err(error) => self.answer(key, Err::<u8, _>(error)),
        }
    }

    /// Adds the answer of a call that only succeeds or fails.
    pub fn done(&mut self, key: &str, answer: Result<()>) {
        self.answer(key, answer.map(|()| "ok"));
    }
}

/// Bytes as text, for people.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn name(error: &Error) -> String {
    let known = [
        (Code::ERROR, "ERROR"),
        (Code::BAD_ARG, "BAD_ARG"),
        (Code::NOT_TASK, "NOT_TASK"),
        (Code::ENV_EXISTS, "ENV_EXISTS"),
        (Code::ENV_NOEXIST, "ENV_NOEXIST"),
        (Code::NOSPACE, "NOSPACE"),
        (Code::NOT_REMOTE, "NOT_REMOTE"),
        (Code::NOEXIST, "NOEXIST"),
        (Code::NOT_EXECD, "NOT_EXECD"),
        (Code::NOT_AVAIL, "NOT_AVAIL"),
        (Code::NOT_LOCAL, "NOT_LOCAL"),
    ];
    match (error, error.code()) {
        (Error::Unsupported { .. }, _) => "Unsupported".to_owned(),
        (Error::Value { .. }, _) => "Value".to_owned(),
        (_, Some(code)) => known
            .iter()
            .find(|(it, _)| *it == code)
            .map_or_else(|| code.0.to_string(), |(_, name)| (*name).to_owned()),
        _ => "Other".to_owned(),
    }
}
