//! Images and texts to model input: the only code of this kind in the project.
//!
//! The trainer and the page both use it, so a model gets the same input in training and later.
//!
//! - [`image`]: file bytes to upright 8-bit RGB, then to the square that the image encoder reads.
//! - [`tokenize`]: text to the token ids that the text encoder reads.
//! - [`decode_text`]: bytes of a text file to text.

pub mod image;
mod plain_text;
pub mod tokenize;

pub use image::{
    CropOffset, Frame, Preprocess, RandomCrop, Resampling, ResizeMode, beginning, crop_box, decode,
    decoded_size, frame_of, is_image, to_planes,
};
pub use plain_text::decode_text;
pub use tokenize::{
    TokenBatch, Tokenizer, TokenizerRules, clean, end_position, merges_prefix, symbols,
};
