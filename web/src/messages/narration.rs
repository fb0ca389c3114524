//! A result as text, as the widget shows it.

use serde::{Deserialize, Serialize};

/// Text for a result with the dial at one position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelText {
    /// The position in words, for assistive technology: "a boat, very likely".
    pub position: String,
    /// The answer as one sentence.
    pub sentence: String,
    /// Index in the path of the step to mark, if any.
    pub step: Option<usize>,
    /// For each rung, whether it is more specific than this position.
    pub hidden: Vec<bool>,
}

/// A result as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narration {
    /// The answer and the other things that the photo shows. This field and the next three are for the default position
    /// of the dial.
    pub sentence: String,
    /// A sentence with a guess: something more specific than the evidence supports.
    pub guess: Option<String>,
    /// Index in the path of the step where the evidence stops; `None` if it stops above all named ones.
    pub step: Option<usize>,
    /// For each rung, whether it is too unlikely to show.
    pub hidden: Vec<bool>,
    /// For each rung, whether it is more specific than the evidence supports.
    pub beyond: Vec<bool>,
    /// The positions of the dial, from general to specific.
    pub levels: Vec<LevelText>,
    /// Index in `levels` where the evidence stops; `None` if it stops above all of them.
    pub evidence: Option<usize>,
    /// Indices in the path of the steps that people name.
    pub named: Vec<usize>,
    /// The receipt of the result, JSON.
    pub receipt: String,
}
