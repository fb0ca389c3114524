//! Metrics of ranks, radii and histograms, independent of models, files and devices.

pub mod average_precision;
pub mod correlation;
pub mod curve;
pub mod pairs;
pub mod recall;
pub mod steps;
pub mod summary;
pub mod transport;

use std::collections::BTreeMap;

/// Returns a map from pairs of a name and a value.
pub fn named<V, const N: usize>(pairs: [(&str, V); N]) -> BTreeMap<String, V> {
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}
