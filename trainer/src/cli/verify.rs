//! Command line of `trainer verify`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;

/// Recompute a result of the page and list the differences.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer verify receipt.json --model bundle/ --photo cat.jpg")]
pub struct VerifyArgs {
    /// Result or receipt of the page, JSON (docs/schema/ of the repository).
    #[arg(value_name = "RECEIPT.json")]
    pub receipt: PathBuf,
    /// Bundle that produced the result.
    #[arg(long, visible_alias = "checkpoint", value_name = "BUNDLE")]
    pub model: PathBuf,
    /// Photo of the result.
    #[arg(long, value_name = "PHOTO")]
    pub photo: PathBuf,
    /// Largest difference of a radius, a similarity or a probability that still counts as equal.
    #[arg(long, default_value_t = 0.01, value_name = "GAP")]
    pub tolerance: f64,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
