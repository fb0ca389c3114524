//! Choices of an import and their origins; all missing choices are reported to the user at once.

use serde::Serialize;
use serde_json::Value;

use super::stated_config::Maybe;
use crate::exit::usage;
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

/// Choices so far.
#[derive(Default)]
pub(super) struct Choices {
    /// Choices with a value.
    pub(super) taken: Vec<Choice>,
    /// Descriptions of the missing choices.
    pub(super) asked: Vec<String>,
}

impl Choices {
    /// Takes the value of the flag, else the stated one, else the measured one; records a missing
    /// choice if there is none.
    pub(super) fn take<T: Serialize>(
        &mut self,
        what: &'static str,
        (flag, given): (&str, Option<T>),
        said: Maybe<T>,
        measured: Option<T>,
    ) -> Option<T> {
        let (value, by) = match (given, said, measured) {
            (Some(value), None, _) => (value, flag.to_owned()),
            (Some(value), Some(said), _) => (value, format!("{flag}, over {}", said.by)),
            (None, Some(said), _) => (said.value, said.by),
            (None, None, Some(value)) => (value, "shapes of tensors".to_owned()),
            (None, None, None) => {
                self.asked.push(if flag.is_empty() {
                    format!("{what}: the tensor that determines it is missing or has another rank")
                } else {
                    format!("{what}: set it with {flag}")
                });
                return None;
            }
        };
        self.taken.push(Choice {
            what,
            value: serde_json::to_value(&value).unwrap_or_default(),
            by,
        });
        Some(value)
    }

    /// Takes a size, which has no flag.
    pub(super) fn size(
        &mut self,
        what: &'static str,
        said: Maybe<usize>,
        shown: Option<usize>,
    ) -> usize {
        self.take(what, ("", None), said, shown).unwrap_or(0)
    }
}

/// Bad usage that lists the missing choices.
pub(super) fn asked(layout: Layout, asked: &[String]) -> anyhow::Error {
    usage(format!(
        "{} weights: neither the weights file nor a file beside it states\n  {}",
        layout.title(),
        asked.join("\n  ")
    ))
}
