//! How the ranks of a lineage are written as text.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How the text of a rank is made of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankText {
    /// All names from the first rank on, joined by blanks (RCME).
    Joined,
    /// The name of the rank alone.
    Name,
}
