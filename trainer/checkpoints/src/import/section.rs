//! A section of a configuration: values by their keys, and where they come from.

use std::borrow::Cow;

use espalier_io::exit::usage;
use serde_json::{Map, Value};

use super::stated_config::{MaybeStated, stated};

/// A section of a configuration.
pub(super) struct Section<'a> {
    /// Name of the file.
    pub(super) file: &'static str,
    /// Its name before its keys, in messages.
    pub(super) name: &'static str,
    /// Its values; empty if the file has no such section.
    pub(super) values: Cow<'a, Map<String, Value>>,
    /// What has the defaults of missing keys, in messages.
    pub(super) defaults: &'static str,
}

impl Section<'_> {
    pub(super) fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|v| !v.is_null())
    }

    pub(super) fn by(&self, key: &str) -> String {
        format!("{}, {}{key}", self.file, self.name)
    }

    /// Returns the origin of a value that the file omits.
    pub(super) fn by_default(&self, key: &str) -> String {
        format!("default of {}, {key}", self.defaults)
    }

    pub(super) fn unexpected(&self, key: &str, expected: &str) -> anyhow::Error {
        let found = self.value(key).cloned().unwrap_or_default();
        usage(format!(
            "{}: expected {expected}, found {found}",
            self.by(key)
        ))
    }

    /// Reads a number; without a default it must be stated.
    pub(super) fn number(
        &self,
        key: &str,
        default: Option<usize>,
    ) -> anyhow::Result<MaybeStated<usize>> {
        let value = match (self.value(key), default) {
            (None, Some(default)) => return Ok(stated(default, self.by_default(key))),
            (value, _) => value.and_then(Value::as_u64),
        };
        let number = value.and_then(|n| usize::try_from(n).ok());
        let number = number.ok_or_else(|| self.unexpected(key, "a non-negative integer"))?;
        Ok(stated(number, self.by(key)))
    }
}
