//! Turns bytes and numbers from scripts into text that is safe to log.
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use mlua::Value;

/// The longest line that [`one_line`] gives, in bytes.
pub const MAX_LINE: usize = 8192;

/// Room kept for the note at the end of a line that was cut.
const NOTE: usize = 64;

/// Makes one line of UTF-8 out of any bytes.
///
/// Control characters, C1 controls, line separators, characters that turn the writing direction
/// and bytes that are not UTF-8 are written as escapes (`\n`, `\x1b`, `\u{202e}`); text beyond
/// [`MAX_LINE`] is cut with a note. A backslash stays as it is, so applying it twice changes
/// nothing.
pub fn one_line(bytes: &[u8]) -> String {
    escape(bytes, false)
}

/// The same for log lines, where `print` puts tabs between its arguments: they stay.
pub(crate) fn log_line(bytes: &[u8]) -> String {
    escape(bytes, true)
}

fn escape(bytes: &[u8], keep_tabs: bool) -> String {
    let mut out = String::with_capacity(bytes.len().min(MAX_LINE));
    let mut cut_at = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().chars().map(Ok);
        let invalid = chunk.invalid().iter().map(|byte| Err(*byte));
        for piece in valid.chain(invalid) {
            match piece {
                Ok('\t') if keep_tabs => out.push('\t'),
                Ok(c) => push_char(&mut out, c),
                Err(byte) => push_byte(&mut out, byte),
            }
            if out.len() <= MAX_LINE - NOTE {
                cut_at = out.len();
            } else if out.len() > MAX_LINE {
                out.truncate(cut_at);
                let _ = write!(out, " [cut here: {} bytes in all]", bytes.len());
                return out;
            }
        }
    }
    out
}

fn push_char(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        '\u{80}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

fn push_byte(out: &mut String, byte: u8) {
    let _ = write!(out, "\\x{byte:02x}");
}

/// The number in plain digits: never an exponent, and no `.0` behind an integral value.
pub fn number_text(number: f64) -> String {
    match integral(number) {
        Some(integer) => integer.to_string(),
        None if number.is_nan() => "nan".to_owned(),
        // Display of f64 never uses an exponent and gives the shortest digits that read back.
        None => number.to_string(),
    }
}

/// The integer that a float stands for, where it stands for one exactly.
pub(crate) fn integral(number: f64) -> Option<i64> {
    // 2^63 as a float is exact; i64::MAX is not.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let exact = number.fract() == 0.0 && (-END..END).contains(&number);
    // The range was checked, so the conversion changes nothing.
    (exact && !(number == 0.0 && number.is_sign_negative())).then_some(number as i64)
}

/// The text of a Lua number of either kind; nothing for other values.
pub(crate) fn value_number(value: &Value) -> Option<String> {
    match value {
        Value::Integer(integer) => Some(integer.to_string()),
        Value::Number(number) => Some(number_text(*number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_bytes_become_escapes() {
        assert_eq!(one_line(b"a\nb\tc\x1b[0m\x7f\0"), r"a\nb\tc\x1b[0m\x7f\x00");
        assert_eq!(one_line("\u{85}\u{202e}\u{2028}é".as_bytes()), r"\u{85}\u{202e}\u{2028}é");
        assert_eq!(one_line(b"\xff\xc3"), r"\xff\xc3");
        assert_eq!(log_line(b"a\tb\n"), "a\tb\\n");
    }

    #[test]
    fn a_long_line_is_cut_with_a_note() {
        let line = one_line(&[b'a'; 100_000]);
        assert!(line.len() <= MAX_LINE);
        assert!(line.ends_with("aa [cut here: 100000 bytes in all]"), "{line}");
        assert_eq!(one_line(&[b'a'; MAX_LINE]), "a".repeat(MAX_LINE));
    }

    /// A46 and A47.
    #[test]
    fn numbers_have_no_exponent_and_no_needless_fraction() {
        assert_eq!(number_text(4.0), "4");
        assert_eq!(number_text(-4.0), "-4");
        assert_eq!(number_text(0.1), "0.1");
        assert_eq!(number_text(1e15), "1000000000000000");
        assert_eq!(number_text(4_611_686_018_427_387_904.0), "4611686018427387904");
        assert_eq!(number_text(18_446_744_073_709_551_614.0), "18446744073709552000");
        assert_eq!(number_text(1e-7), "0.0000001");
        assert_eq!(number_text(f64::NAN), "nan");
        assert_eq!(number_text(f64::NEG_INFINITY), "-inf");
        assert_eq!(number_text(-0.0), "-0");
    }

    proptest! {
        #[test]
        fn one_line_is_one_short_printable_line(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
            let line = one_line(&bytes);
            prop_assert!(line.len() <= MAX_LINE);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert_eq!(one_line(line.as_bytes()), line);
        }

        #[test]
        fn one_line_keeps_printable_text(text in "[ -~äß語]{0,200}") {
            prop_assert_eq!(one_line(text.as_bytes()), text);
        }

        #[test]
        fn number_text_reads_back_as_the_same_number(number in any::<f64>()) {
            let text = number_text(number);
            prop_assert!(!text.contains('e'));
            if number.is_finite() {
                prop_assert_eq!(text.parse::<f64>().ok(), Some(number));
            }
        }
    }
}
