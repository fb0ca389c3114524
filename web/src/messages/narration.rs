//! A result as text, as the widget shows it.

use serde::{Deserialize, Serialize};

/// Text for a result whose path is cut at one particular node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopText {
    /// Index of the node in the path.
    #[serde(rename = "place")]
    pub index: usize,
    /// Id of the node.
    pub stop: String,
    /// Certainty of the node, as an adverb.
    #[serde(rename = "sure")]
    pub certainty: String,
    /// The answer as one sentence.
    pub sentence: String,
    /// Sentence with a guess below the node, if one is likely enough.
    pub guess: Option<String>,
    /// For each rung, whether it is more specific than the evidence supports.
    pub beyond: Vec<bool>,
    /// For each rung, whether it is not shown: too unlikely, or below a node above the evidence.
    pub hidden: Vec<bool>,
}

/// A result as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narration {
    /// The sentence for the default position of the dial.
    pub sentence: String,
    /// The text for a stop at each node of the path that a person would name, from general to specific.
    #[serde(rename = "cuts")]
    pub stop_texts: Vec<StopText>,
    /// Index in `stop_texts` of the node where the evidence stops; `None` if it stops above all of them.
    pub stop: Option<usize>,
    /// The receipt of the result, JSON.
    pub receipt: String,
}
