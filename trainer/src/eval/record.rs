//! One JSON object a task.

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A task of `trainer eval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskName {
    /// Classification through texts (METHODS 6.1).
    ZeroShot,
    /// How far wrong answers are in the taxonomy (METHODS 6.3).
    Hierarchy,
    /// Whether chains of texts lie in order of their radii (tau_d of METHODS 6.4).
    Ordering,
}

/// The result of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Data, as given.
    pub dataset: Vec<String>,
    /// Architecture and method.
    pub model: String,
    /// The weights file.
    pub pretrained: String,
    /// SHA-256 of the weights file.
    pub sha256: String,
    /// Task.
    pub task: TaskName,
    /// Language of the prompts.
    pub language: String,
    /// Prompt set.
    pub prompts: String,
    /// Engine.
    pub backend: String,
    /// Labelled pictures, or chains of texts, that were judged.
    pub n: usize,
    /// Pictures that were not, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Classes to choose from; 0 where there is no choice.
    pub classes: usize,
    /// Seed; nothing of these tasks is random.
    pub seed: u64,
    /// Values, in `[0, 1]` unless a tree distance.
    pub metrics: BTreeMap<String, f64>,
}
