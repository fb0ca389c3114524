//! Pictures: any supported file to upright 8-bit RGB, and from there to model input.
//!
//! 1. [`decode()`]: format by content, alpha on white, 16 bit to 8 bit, EXIF orientation applied.
//! 2. [`Preprocess`]: to `size` x `size`, as Pillow and torchvision would do it.
//! 3. [`crop_box`], [`RandomCrop`]: regions of a picture, for training and for `--region`.
//! 4. [`to_planes`]: to the `[n, 3, h, w]` numbers of a tensor.

mod area;
mod blend;
mod crop;
mod decode;
mod jpeg;
mod orient;
mod planes;
mod png;
mod preprocess;
mod raw;
mod resize;
mod sniff;

/// The picture type of this module, so that callers need not depend on its crate.
pub use ::image::RgbImage;
pub use crop::{RandomCrop, Window, crop_box};
pub use decode::decode;
pub use planes::to_planes;
pub use preprocess::{Preprocess, ResizeMode};
pub use raw::{MAX_DECODED_BYTES, MAX_SIDE};
