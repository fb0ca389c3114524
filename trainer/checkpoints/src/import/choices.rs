//! Choices of an import and their origins; all missing choices are reported to the user at once.

use espalier_io::exit::usage;
use serde::Serialize;
use serde_json::Value;

use super::stated_config::{MaybeStated, stated};
use crate::layout::Layout;

/// One choice and its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Name of the choice.
    pub what: &'static str,
    /// Its value.
    pub value: Value,
    /// Origin: a key of a file, a family, shapes, or a flag.
    pub by: String,
}

impl Choice {
    pub(super) fn new(what: &'static str, value: Value, by: impl Into<String>) -> Self {
        let by = by.into();
        Self { what, value, by }
    }
}

/// Choices so far.
#[derive(Default)]
pub(super) struct Choices {
    /// Choices with a value.
    pub(super) made: Vec<Choice>,
    /// Descriptions of the missing choices.
    pub(super) missing: Vec<String>,
}

impl Choices {
    /// Chooses the value of the flag, else the stated one; records a missing choice if there is none.
    pub(super) fn choose<T: Serialize>(
        &mut self,
        what: &'static str,
        (flag, value): (&str, Option<T>),
        stated: MaybeStated<T>,
    ) -> Option<T> {
        let (value, by) = match (value, stated) {
            (Some(value), None) => (value, flag.to_owned()),
            (Some(value), Some(stated)) => (value, format!("{flag}, over {}", stated.by)),
            (None, Some(stated)) => (stated.value, stated.by),
            (None, None) => {
                self.missing.push(if flag.is_empty() {
                    format!("{what}: the tensor that determines it is missing or has another rank")
                } else {
                    format!("{what}: set it with {flag}")
                });
                return None;
            }
        };
        let shown = serde_json::to_value(&value).unwrap_or_default();
        self.made.push(Choice::new(what, shown, by));
        Some(value)
    }

    /// Chooses a setting without a flag: the stated value, else the measured one.
    pub(super) fn find<T: Serialize>(
        &mut self,
        what: &'static str,
        known: MaybeStated<T>,
        measured: Option<T>,
    ) -> Option<T> {
        let measured = measured.and_then(|value| stated(value, "shapes of tensors"));
        self.choose(what, ("", None), known.or(measured))
    }

    /// Chooses a size; 0 if it is missing.
    pub(super) fn size(
        &mut self,
        what: &'static str,
        known: MaybeStated<usize>,
        measured: Option<usize>,
    ) -> usize {
        self.find(what, known, measured).unwrap_or(0)
    }
}

/// Returns a usage error that lists the missing choices.
pub(super) fn missing_choices(layout: Layout, missing: &[String]) -> anyhow::Error {
    usage(format!(
        "{} weights: neither the weights file nor a file next to it states\n  {}",
        layout.title(),
        missing.join("\n  ")
    ))
}
