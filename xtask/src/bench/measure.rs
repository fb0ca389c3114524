//! Shared parts of the benchmarks: options, program output, medians.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::process::capture;

/// Document that holds the tables.
pub(super) const DOCUMENT: &str = "docs/bench.md";

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Work {
    /// Training and inference
    #[value(name = "towers")]
    Encoders,
    /// Ranking of embeddings
    Retrieval,
}

/// How much to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Measure only this
    #[arg(long, value_enum)]
    pub(super) only: Option<Work>,
    /// Texts of the retrieval
    #[arg(long, default_value_t = 200_000)]
    pub(super) texts: usize,
    /// Images of the retrieval
    #[arg(long, default_value_t = 5_000)]
    pub(super) images: usize,
    /// Width of the retrieval's embeddings
    #[arg(long, default_value_t = 512)]
    pub(super) width: usize,
    /// Rounds; each runs all programs once, in alternating order
    #[arg(long, default_value_t = 3)]
    pub(super) rounds: usize,
    /// Threads of each program
    #[arg(long, default_value_t = 2)]
    pub(super) threads: usize,
    /// Timed training steps of a round
    #[arg(long, default_value_t = 8)]
    pub(super) train_steps: usize,
    /// Timed batches of inference of a round
    #[arg(long, default_value_t = 20)]
    pub(super) infer_batches: usize,
    /// A Python with the peers; if omitted, one is installed below the cache folder
    #[arg(long)]
    pub(super) python: Option<PathBuf>,
    /// Write the tables into docs/bench.md
    #[arg(long)]
    pub(super) write: bool,
}

/// The JSON object in the last line of what a program prints.
pub(super) fn json_output(program: &mut Command) -> Result<Value> {
    let output = capture(program)?;
    let line = output.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("expected a JSON object, found `{line}`"))
}

/// The median; the mean of the two middle values for an even count, NaN for an empty list.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}
