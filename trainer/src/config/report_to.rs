//! Formats of metrics.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Formats in which a run writes its metrics into its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportTo {
    /// `metrics.jsonl`: one JSON object a line.
    Jsonl,
    /// `tensorboard/`: event files of TensorBoard.
    Tensorboard,
}
