//! What is left of a Lua error: a message with its place, and the way the script got there.
#![forbid(unsafe_code)]

use std::fmt;

use crate::text::one_line;

/// A Lua error, as texts of one line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The message; begins with script and line where Lua or the script gave them.
    pub message: String,
    /// The stack at the error, innermost frame first, as `script:line: in function ...`.
    pub traceback: Vec<String>,
}

impl Failure {
    /// A failure that did not come out of running Lua code.
    pub(crate) fn plain(message: &str) -> Failure {
        Failure { message: one_line(message.as_bytes()), traceback: Vec::new() }
    }

    /// Puts together what stdlib.lua reports: the text of the error value, the type that value
    /// had, and `debug.traceback`'s text.
    pub(crate) fn new(
        text: &[u8],
        kind: &str,
        trace: &[u8],
        memory_limit: Option<usize>,
    ) -> Failure {
        let traceback = frames(trace);
        let mut message = String::from_utf8_lossy(text).into_owned();
        if kind == "userdata" {
            message = without_traceback(&message);
        }
        // Error values other than strings carry no place of their own.
        if kind != "string"
            && let Some(place) = traceback.iter().find_map(|frame| place(frame))
        {
            message = format!("{place} {message}");
        }
        Failure { message: one_line(explain(message, memory_limit).as_bytes()), traceback }
    }

    /// Whether Lua ran out of memory.
    pub(crate) fn is_memory(&self) -> bool {
        is_memory(&self.message)
    }

    /// An error of mlua's that reached Rust.
    pub(crate) fn from_mlua(error: &mlua::Error, memory_limit: Option<usize>) -> Failure {
        let text = match error {
            mlua::Error::MemoryError(text) => text.clone(),
            other => without_traceback(&other.to_string()),
        };
        Failure::plain(&explain(text, memory_limit))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// mlua's errors print their traceback behind the text.
fn without_traceback(text: &str) -> String {
    let text = text.split("\nstack traceback:").next().unwrap_or(text);
    let text = text.trim_end();
    text.strip_prefix("runtime error: ").unwrap_or(text).to_owned()
}

/// Adds what Lua's own words leave open.
fn explain(message: String, memory_limit: Option<usize>) -> String {
    if let Some(limit) = memory_limit
        && is_memory(&message)
    {
        return format!("{message}: the limit of {limit} bytes is reached");
    }
    // dlopen's words when the Lua API is not visible to a module: Lua is linked statically, or
    // only for this library.
    if message.contains("undefined symbol: lua") && message.contains("error loading module") {
        return format!("{message} (C modules are not supported by this build)");
    }
    message
}

fn is_memory(message: &str) -> bool {
    message.contains("not enough memory")
}

/// `script:line:` of a frame that has one.
fn place(frame: &str) -> Option<&str> {
    let (place, _) = frame.split_once(" in ")?;
    (!place.starts_with('[')).then_some(place)
}

fn frames(trace: &[u8]) -> Vec<String> {
    let mut frames: Vec<String> = trace
        .split(|byte| *byte == b'\n')
        .map(|line| one_line(line.trim_ascii()))
        .filter(|line| !line.is_empty() && line != "stack traceback:")
        .filter(|line| !NOISE.iter().any(|noise| line.starts_with(noise)))
        .collect();
    // The outermost frames are the call we made: none of them is the script's.
    while frames.last().is_some_and(|frame| is_ours(frame)) {
        frames.pop();
    }
    frames
}

const NOISE: [&str; 5] = [
    "[C]: in ?",
    "[C]: in function 'error'",
    "[C]: in function 'xpcall'",
    "(...tail calls...)",
    "(tail call): ?",
];

fn is_ours(frame: &str) -> bool {
    frame.starts_with("[C]:") || frame.starts_with("[slurm-lua]:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_our_own_are_dropped() {
        let trace = b"\nstack traceback:\n\t[C]: in function 'error'\n\t/x.lua:3: in function 'f'\n\t\
            (...tail calls...)\n\t[C]: in function 'xpcall'\n\t[slurm-lua]:9: in function <[slurm-lua]:7>";
        assert_eq!(frames(trace), ["/x.lua:3: in function 'f'"]);
    }

    #[test]
    fn an_error_value_without_a_place_gets_one() {
        let failure = Failure::new(b"boom", "table", b"\n\t/x.lua:3: in function 'f'", None);
        assert_eq!(failure.message, "/x.lua:3: boom");
        let failure = Failure::new(b"boom", "string", b"\n\t/x.lua:3: in function 'f'", None);
        assert_eq!(failure.message, "boom");
    }

    /// A04.
    #[test]
    fn a_c_module_that_cannot_see_lua_is_explained() {
        let text =
            b"error loading module 'c' from file '/c.so':\n\t/c.so: undefined symbol: lua_pushnil";
        let failure = Failure::new(text, "string", b"", None);
        assert!(failure.message.ends_with("(C modules are not supported by this build)"));
        assert!(!failure.message.contains('\n'));
    }

    #[test]
    fn running_out_of_memory_names_the_limit() {
        let failure = Failure::new(b"not enough memory", "string", b"", Some(1024));
        assert_eq!(failure.message, "not enough memory: the limit of 1024 bytes is reached");
    }
}
