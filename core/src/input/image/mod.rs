//! Images: from files in any supported format to upright 8-bit RGB, and from there to model input.
//!
//! 1. [`decode()`]: detects the format by content, blends alpha on white, converts 16 bits to 8,
//!    and applies the EXIF orientation.
//! 2. [`Preprocess`]: resizes to `size` x `size`, with the arithmetic of torchvision or of Pillow.
//! 3. [`crop_box`], [`RandomCrop`]: cut out regions of an image, for training and for `--region`.
//! 4. [`to_planes`]: converts to the `[n, 3, h, w]` values of a tensor.

mod area;
mod blend;
mod crop;
mod decode;
mod frame;
mod jpeg;
mod orient;
mod pillow;
mod planes;
mod png;
mod preprocess;
mod raw;
mod resize;
mod sniff;

/// The image type of this module, so that callers need not depend on its crate.
pub use ::image::RgbImage;
pub use crop::{RandomCrop, Window, crop_box};
pub use decode::{decode, decode_within, decoded_size, frame_of};
pub use frame::Frame;
pub use planes::to_planes;
pub use preprocess::{CropOffset, Preprocess, Resampling, ResizeMode};
pub use raw::{MAX_DECODED_BYTES, MAX_PIXELS, MAX_SIDE};
pub use sniff::{beginning, is_image};
