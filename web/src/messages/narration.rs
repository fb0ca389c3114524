//! A result as text, as the widget shows it.

use serde::{Deserialize, Serialize};

/// Text for a path that is cut at one of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Index of the node in the path.
    pub place: usize,
    /// Id of the node.
    pub stop: String,
    /// Certainty of the node, as an adverb.
    pub sure: String,
    /// The answer as one sentence.
    pub sentence: String,
    /// Sentence with a guess below the node, if one is likely enough.
    pub guess: Option<String>,
    /// For each rung, whether it is more specific than the node.
    pub beyond: Vec<bool>,
}

/// A result as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narration {
    /// The sentence for the default position of the dial.
    pub sentence: String,
    /// The text for a cut at each node of the path, from general to specific.
    pub cuts: Vec<Cut>,
    /// Index in `cuts` of the node where the evidence stops; `None` if that node is not on the
    /// path.
    pub stop: Option<usize>,
    /// The receipt of the result, JSON.
    pub receipt: String,
}
