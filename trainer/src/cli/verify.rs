//! The grammar of `trainer verify`.

use std::path::PathBuf;

use clap::Args;

use super::common::Common;

/// Compute a result of the page again, and say where it differs.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer verify receipt.json --model static/models/default --photo cat.jpg"
)]
pub struct VerifyArgs {
    /// The page's result or receipt, JSON (docs/schema/).
    #[arg(value_name = "RECEIPT.json")]
    pub receipt: PathBuf,
    /// The bundle that it came from.
    #[arg(long, value_name = "BUNDLE")]
    pub model: PathBuf,
    /// The photo that it is of.
    #[arg(long, value_name = "PHOTO")]
    pub photo: PathBuf,
    /// Largest difference of a radius, a similarity or a probability that counts as none.
    #[arg(long, default_value_t = 0.01, value_name = "GAP")]
    pub tolerance: f64,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
