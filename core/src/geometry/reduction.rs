//! How the distances of the factors of a product are combined.

use serde::{Deserialize, Serialize};

/// How the distances of the factors are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DistanceReduction {
    /// Mean of the distances. The paper writes the sum; the published code takes the mean. The
    /// logit scale is bounded, so the two are different models.
    L1,
    /// Root of the mean of their squares.
    L2,
}
