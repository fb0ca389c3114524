//! The pixels of a file as it stores them, and limits of their size.

use ::image::ColorType;
use ::image::metadata::Orientation;

use crate::error::{CoreError, Result};

/// Largest size of the pixels of one image in bytes, both with the channels and depth of the file
/// and as 8-bit RGB: 1200 MiB.
///
/// 12000 x 12000 pixels fit at any depth (RGBA with 16 bits per channel: 1099 MiB). The page has 4
/// GiB of address space in total, and a decoder needs memory for its own tables too.
pub const MAX_DECODED_BYTES: u64 = 1200 << 20;

/// Largest area in pixels: 256 million. The largest cameras of phones have 200 million. A decoder of
/// JPEG needs up to six bytes a pixel besides the pixels themselves.
pub const MAX_PIXELS: u64 = 256_000_000;

/// Longest side in pixels. Longer images are not photos.
pub const MAX_SIDE: u32 = 30_000;

/// Pixels as the file stores them, before [`super::blend::to_rgb`].
pub(super) struct Raw {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) color: ColorType,
    /// `width * height * color.bytes_per_pixel()` bytes, 16-bit channels in native byte order.
    pub(super) data: Vec<u8>,
    pub(super) orientation: Orientation,
}

/// Returns the number of bytes of the pixels, if they are within the limits; `max_bytes` is the
/// limit for both the channels and depth of the file and 8-bit RGB.
pub(super) fn check_size(
    (width, height): (u32, u32),
    bytes_per_pixel: u8,
    max_bytes: u64,
) -> Result<usize> {
    check_pixels(width, height)?;
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(CoreError::Image(format!(
            "expected sides of at most {MAX_SIDE} pixels, found {width} x {height}; make the \
             image smaller"
        )));
    }
    let pixels = u64::from(width) * u64::from(height);
    let len = pixels * u64::from(bytes_per_pixel);
    let needed = len.max(pixels * 3);
    match usize::try_from(len) {
        Ok(_) if needed <= max_bytes && pixels > MAX_PIXELS => Err(CoreError::Image(format!(
            "expected at most {} million pixels, found {width} x {height}; make the image smaller",
            MAX_PIXELS / 1_000_000
        ))),
        Ok(len) if needed <= max_bytes => Ok(len),
        _ => Err(CoreError::Image(format!(
            "{width} x {height} pixels need {} MiB of memory, expected at most {} MiB; make the \
             image smaller",
            needed.div_ceil(1 << 20),
            max_bytes >> 20
        ))),
    }
}

/// Checks that an image has pixels.
pub(super) fn check_pixels(width: u32, height: u32) -> Result<()> {
    if width > 0 && height > 0 {
        return Ok(());
    }
    let reason = format!("the image has no pixels ({width} x {height})");
    Err(CoreError::Image(reason))
}

/// Allocates a buffer of zeros, or returns an error if there is not enough memory.
pub(super) fn allocate(len: usize) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| {
        CoreError::Image(format!(
            "the image needs {} MiB of memory, which is not available; make the image smaller",
            len.div_ceil(1 << 20)
        ))
    })?;
    data.resize(len, 0);
    Ok(data)
}

/// Returns the message for a truncated file.
pub(super) fn truncated(name: &str, len: usize) -> String {
    format!("this {name} is truncated: it ends after {len} bytes, before the image is complete")
}
