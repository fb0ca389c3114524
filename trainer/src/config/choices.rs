//! Settings of a run that are one of a list.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Number format of the encoders' computation. Weights, optimiser state, features and all geometry
/// stay in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// 32-bit floats.
    Fp32,
    /// bfloat16: half the memory, and faster where the device has units for it.
    Bf16,
}

/// Formats in which a run writes its metrics into its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportTo {
    /// `metrics.jsonl`: one JSON object a line.
    Jsonl,
    /// `tensorboard/`: event files of TensorBoard.
    Tensorboard,
}
