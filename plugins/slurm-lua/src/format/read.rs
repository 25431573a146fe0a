//! Builds a [`Data`] from any serde format within limits of depth and entries.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::data::{Data, Key, Limits};

/// What is left of the limits while one text is read.
pub(super) struct Budget {
    limits: Limits,
    entries: Cell<usize>,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Budget {
        Budget { limits, entries: Cell::new(0) }
    }

    /// Reads the outermost value.
    pub(super) fn seed(&self) -> Seed<'_> {
        Seed { budget: self, depth: 0 }
    }
}

/// Reads one value at some depth.
#[derive(Clone, Copy)]
pub(super) struct Seed<'a> {
    budget: &'a Budget,
    depth: usize,
}

impl<'a> Seed<'a> {
    fn inner<E: Error>(self) -> Result<Seed<'a>, E> {
        if self.depth >= self.budget.limits.depth {
            return Err(E::custom(format!(
                "lists and maps lie deeper than {} levels",
                self.budget.limits.depth
            )));
        }
        Ok(Seed { budget: self.budget, depth: self.depth + 1 })
    }

    fn count<E: Error>(self) -> Result<(), E> {
        let entries = self.budget.entries.get() + 1;
        self.budget.entries.set(entries);
        if entries > self.budget.limits.entries {
            return Err(E::custom(format!("more than {} entries", self.budget.limits.entries)));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Data;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Data, D::Error> {
        deserializer.deserialize_any(self)
    }
}

// Integers beyond i64 become the nearest float: the loss is wanted there, and documented.
#[allow(clippy::cast_precision_loss)]
impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without tags")
    }

    fn visit_unit<E: Error>(self) -> Result<Data, E> {
        Ok(Data::Nil)
    }

    fn visit_none<E: Error>(self) -> Result<Data, E> {
        Ok(Data::Nil)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Data, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Data, E> {
        Ok(i64::try_from(value).map_or(Data::Float(value as f64), Data::Int))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Data, E> {
        Ok(i64::try_from(value).map_or(Data::Float(value as f64), Data::Int))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Data, E> {
        Ok(i64::try_from(value).map_or(Data::Float(value as f64), Data::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Data, E> {
        Ok(Data::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Data, E> {
        Ok(Data::Str(value.as_bytes().to_vec()))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Data, E> {
        Ok(Data::Str(value.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Data, A::Error> {
        let inner = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(inner)? {
            self.count()?;
            items.push(item);
        }
        Ok(Data::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Data, A::Error> {
        let inner = self.inner()?;
        let mut entries = Vec::new();
        while let Some(key) = access.next_key_seed(KeySeed)? {
            self.count()?;
            entries.push((key, access.next_value_seed(inner)?));
        }
        Ok(Data::Map(entries))
    }
}

/// Reads a key: a string, or in YAML an integer.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for KeySeed {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a string or an integer")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Key, E> {
        Ok(Key::Str(value.as_bytes().to_vec()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Key, E> {
        Ok(Key::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Key, E> {
        i64::try_from(value)
            .map(Key::Int)
            .map_err(|_| E::custom(format!("key {value} is too large")))
    }
}
