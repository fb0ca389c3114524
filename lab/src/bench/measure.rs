//! Shared parts of the benchmarks: options, medians.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};
use xtask::golden::python_for;
use xtask::process::command;

/// Document that holds the tables.
pub(super) const DOCUMENT: &str = "docs/bench.md";

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Work {
    /// Image encoders, beside ONNX Runtime and PyTorch
    Inference,
    /// Training steps, beside PyTorch
    Training,
    /// A folder of photos (--photos), beside a script with Pillow and ONNX Runtime
    Folder,
    /// Ranking of embeddings, beside NumPy and FAISS
    Retrieval,
    /// The engine of the page in Chromium, beside ONNX Runtime Web
    Browser,
}

/// How much to measure.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Measure only this
    #[arg(long, value_enum)]
    pub(super) only: Option<Work>,
    /// Rounds; each runs all programs once, in alternating order
    #[arg(long, default_value_t = 3)]
    pub(super) rounds: usize,
    /// Seconds of each program in each round; a training step may take longer
    #[arg(long, default_value_t = 2.0)]
    pub(super) seconds: f64,
    /// Threads of each program; inference is measured with one, too
    #[arg(long, default_value_t = 2)]
    pub(super) threads: usize,
    /// Texts of the retrieval
    #[arg(long, default_value_t = 200_000)]
    pub(super) texts: usize,
    /// Images of the retrieval
    #[arg(long, default_value_t = 5_000)]
    pub(super) images: usize,
    /// Width of the retrieval's embeddings
    #[arg(long, default_value_t = 512)]
    pub(super) width: usize,
    /// Folder of photos for `--only folder`; without it they are not measured
    #[arg(long)]
    pub(super) photos: Option<PathBuf>,
    /// A Python with the peers; if omitted, one is installed below the cache folder
    #[arg(long)]
    pub(super) python: Option<PathBuf>,
    /// Write the tables into docs/bench.md
    #[arg(long)]
    pub(super) write: bool,
}

impl Options {
    /// Returns a command that runs a script of the peers; the caller adds the path of the script.
    ///
    /// # Errors
    /// Fails if what the script needs cannot be installed.
    pub(super) fn python(&self, script: &Path) -> Result<Command> {
        match &self.python {
            Some(python) => Ok(command(python)),
            None => python_for(script),
        }
    }
}

/// Returns the median; the mean of the two middle values for an even count, NaN for an empty list.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(low), sorted.get(high)) {
        (Some(low), Some(high)) => f64::midpoint(*low, *high),
        _ => f64::NAN,
    }
}

/// Returns the load average of the last minute.
pub(super) fn load_average() -> String {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    loads
        .split(' ')
        .next()
        .filter(|load| !load.is_empty())
        .unwrap_or("unknown")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), 3.0);
        assert_eq!(median(&[5.0]), 5.0);
        assert!(median(&[]).is_nan());
    }
}
