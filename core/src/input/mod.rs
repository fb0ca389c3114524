//! Pictures and texts to numbers: the only such code in the project.
//!
//! The trainer and the page both go through here, so what a model was trained on and what it is
//! shown later cannot differ.
//!
//! - [`image`]: bytes to upright 8-bit RGB, then to the square that the image tower reads.
//! - [`tokenize`]: text to the token ids that the text tower reads.

pub mod image;
pub mod tokenize;

pub use image::{Preprocess, RandomCrop, ResizeMode, crop_box, decode, to_planes};
pub use tokenize::{TokenBatch, Tokenizer, clean, merges_prefix, symbols};
