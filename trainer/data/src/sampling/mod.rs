//! Turns records into batches: worker threads draw, crop and pack the samples.

pub mod cropped_images;
pub mod crops;
pub(crate) mod draw;
pub mod eval_set;
#[cfg(test)]
pub(crate) mod flawed;
mod lane;
mod open_group;
pub mod outliers;
pub(crate) mod pack;
mod producer;
pub(crate) mod regions;
pub mod stream;
