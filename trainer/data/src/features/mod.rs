//! Precomputed features: the outputs of a frozen image encoder for the photos and box crops of a
//! dataset are computed once and reused by all later steps and runs (LiT, Zhai et al. 2022).
//!
//! [`precompute`] turns a dataset into one whose records reference rows of features instead of
//! images ([`ViewSpec`] defines which views are encoded). Files in the cache folder are identified
//! by a hash of the encoder's weights, the settings and the bytes of the images, so they never
//! become stale.

mod blocks;
mod content;
mod feature_dataset;
mod file;
mod outliers;
mod precompute;
mod texts;
mod view;

pub use outliers::precompute_outliers;
pub use precompute::{Encoder, PrecomputeSettings, PrecomputedFeatures, precompute};
pub use texts::{StoredTexts, TextStore};
pub use view::ViewSpec;

#[cfg(test)]
mod tests;
