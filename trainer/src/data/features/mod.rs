//! Kept features: what a locked image encoder makes of the photos and box crops of a dataset is
//! computed once and used by every further step and run (LiT, Zhai et al. 2022).
//!
//! [`keep`] turns a dataset into one whose records name rows of features in place of pictures
//! ([`ViewSpec`] says which pictures are encoded). Files in the cache folder
//! are found by a hash of the encoder's weights, the settings and the bytes of the pictures, so they
//! never have to be deleted to stay correct.

mod content;
mod file;
mod keep;
mod outliers;
mod view;

pub use keep::{Encoder, Keeping, KeptData, keep};
pub use outliers::keep_outliers;
pub use view::ViewSpec;

#[cfg(test)]
mod tests;
