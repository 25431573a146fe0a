//! Reads the return code of a script's function; what follows from it is the caller's.
#![forbid(unsafe_code)]

use mlua::{MultiValue, Value};

use crate::text::value_number;

/// The first value that a function returned, as a return code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 0, as integer or float.
    Zero,
    /// A number below 0, -0.5 included, with its text.
    Negative(String),
    /// A number above 0, or NaN, with its text.
    Positive(String),
    /// Not a number (a string of digits is none), with its type; "nothing" without a value.
    NotANumber(&'static str),
}

impl Answer {
    /// The answer in what a function returned.
    pub fn of(values: &MultiValue) -> Answer {
        values.front().map_or(Answer::NotANumber("nothing"), Answer::from_value)
    }

    /// The answer that one value is.
    pub fn from_value(value: &Value) -> Answer {
        let sign = match value {
            Value::Integer(number) => 0.cmp(number).reverse(),
            // NaN compares with nothing; it is no success and asks for nothing.
            Value::Number(number) => {
                number.partial_cmp(&0.0).unwrap_or(std::cmp::Ordering::Greater)
            }
            other => return Answer::NotANumber(other.type_name()),
        };
        let text = value_number(value).unwrap_or_default();
        match sign {
            std::cmp::Ordering::Equal => Answer::Zero,
            std::cmp::Ordering::Less => Answer::Negative(text),
            std::cmp::Ordering::Greater => Answer::Positive(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_an_answer() {
        let number = |number| Answer::from_value(&Value::Number(number));
        let integer = |number| Answer::from_value(&Value::Integer(number));
        assert_eq!(integer(0), Answer::Zero);
        assert_eq!(number(-0.0), Answer::Zero);
        assert_eq!(integer(-1), Answer::Negative("-1".to_owned()));
        assert_eq!(number(-0.5), Answer::Negative("-0.5".to_owned()));
        assert_eq!(number(f64::NEG_INFINITY), Answer::Negative("-inf".to_owned()));
        assert_eq!(integer(11), Answer::Positive("11".to_owned()));
        assert_eq!(number(3.0), Answer::Positive("3".to_owned()));
        assert_eq!(number(f64::NAN), Answer::Positive("nan".to_owned()));
        assert_eq!(Answer::from_value(&Value::Nil), Answer::NotANumber("nil"));
        assert_eq!(Answer::from_value(&Value::Boolean(true)), Answer::NotANumber("boolean"));
        assert_eq!(Answer::of(&MultiValue::new()), Answer::NotANumber("nothing"));
        let values = MultiValue::from_vec(vec![Value::Integer(-2), Value::Integer(0)]);
        assert_eq!(Answer::of(&values), Answer::Negative("-2".to_owned()));
    }

    #[test]
    fn a_string_of_digits_is_not_a_number() -> mlua::Result<()> {
        let lua = mlua::Lua::new();
        let value = Value::String(lua.create_string("-1")?);
        assert_eq!(Answer::from_value(&value), Answer::NotANumber("string"));
        Ok(())
    }
}
