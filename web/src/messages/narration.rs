//! A result in words, as the widget shows it.

use serde::{Deserialize, Serialize};

/// What is said where the path is cut at one of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Place of the node in the path.
    pub place: usize,
    /// The node.
    pub stop: String,
    /// How sure it is, as an adverb.
    pub sure: String,
    /// The answer as one sentence.
    pub sentence: String,
    /// What is worth a guess below it.
    pub guess: Option<String>,
    /// Of each rung, whether it says more than that.
    pub beyond: Vec<bool>,
}

/// A result in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narration {
    /// What is said where nobody turns the dial.
    pub sentence: String,
    /// What is said at each place of the dial, from general to specific.
    pub cuts: Vec<Cut>,
    /// The one of `cuts` where the evidence stops; none where it carries to none of them.
    pub stop: Option<usize>,
    /// The receipt of the result, JSON.
    pub receipt: String,
}
