//! Makes one harmless line out of any text.
#![forbid(unsafe_code)]

use std::ffi::CString;
use std::fmt::Write;

/// Slurm's own buffer for a line is not bounded, but a log reader's is.
const LONGEST: usize = 8 * 1024;

/// The text with every control character, and every character that changes how a terminal shows a
/// line (bidirectional controls, line separators), written as an escape.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if out.len() > LONGEST {
            out.push_str("… (cut)");
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            '\u{80}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}' => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The line as Slurm takes it.
pub fn c_line(text: &str) -> CString {
    // NUL is a control character, so none is left.
    CString::new(escape(text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_bytes_and_bidirectional_marks_are_escaped() {
        assert_eq!(escape("a\nb\x1b[31m\0\u{202e}ü%s"), "a\\nb\\x1b[31m\\x00\\u{202e}ü%s");
    }

    proptest! {
        #[test]
        fn no_line_holds_a_control_character(text in ".{0,200}") {
            let line = escape(&text);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert!(!c_line(&text).is_empty() || text.is_empty());
        }
    }
}
