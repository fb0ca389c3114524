//! How the ranks of a taxonomy path are written as text.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How the text of a rank is built from names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankText {
    /// All names from the first rank to this one, joined by spaces (RCME).
    Joined,
    /// Only the name of the rank.
    Name,
}
