//! One JSON object per task.

use std::collections::BTreeMap;

use espalier_data::Coverage;
use serde::{Deserialize, Serialize};

use super::metrics::curve::Point;

/// The result of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Data, as given.
    pub dataset: Vec<String>,
    /// Name of the benchmark, where it has one.
    pub benchmark: Option<String>,
    /// Method that the model was trained with.
    pub model: String,
    /// Architecture, if it is a named one.
    pub architecture: Option<String>,
    /// The weights file.
    pub pretrained: String,
    /// SHA-256 of the weights file.
    pub sha256: String,
    /// Task.
    pub task: String,
    /// Language of the prompts.
    pub language: String,
    /// Prompt set.
    pub prompts: String,
    /// Engine.
    pub backend: String,
    /// Number of labelled images, chains of texts, queries or pairs that were evaluated.
    pub n: usize,
    /// Number of items that were skipped, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Number of classes or items to choose from; 0 if there is no choice.
    pub classes: usize,
    /// Seed; only tasks that document it use it.
    pub seed: u64,
    /// Settings that change the numbers.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// Which part of the benchmark was available.
    #[serde(rename = "ledger")]
    pub coverage: Option<Coverage>,
    /// Values, in `[0, 1]` unless they are a distance, a radius or a correlation.
    pub metrics: BTreeMap<String, f64>,
    /// Precision-recall curves by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<Point>>,
    /// Values that papers report for this task, benchmark and model.
    #[serde(default)]
    pub published: Vec<Compared>,
}

/// A value of a paper and ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Metric.
    pub metric: String,
    /// Ours.
    pub value: f64,
    /// The paper's.
    pub paper: f64,
    /// Ours minus the paper's.
    pub gap: f64,
    /// Paper and table.
    pub source: String,
}
