//! The image that a bundle is tested with when it is loaded.

use std::io::Cursor;

use anyhow::Context;
use image::{ImageFormat, Rgb, RgbImage};

/// Returns a drawn image, 96 x 72: sky, ground, a disc and a striped block. Colour gradients, edges
/// and an aspect ratio other than 1 exercise the whole path from decoding to the encoder.
pub fn image() -> RgbImage {
    RgbImage::from_fn(96, 72, |x, y| {
        let (fx, fy) = (x as f32, y as f32);
        let disc = (fx - 64.0).powi(2) + (fy - 24.0).powi(2) < 14.0_f32.powi(2);
        let block = (16..40).contains(&x) && (30..60).contains(&y);
        match (disc, block) {
            (true, _) => Rgb([240, 190 - y as u8, 40]),
            (_, true) if (x / 4) % 2 == 0 => Rgb([150, 40, 50]),
            (_, true) => Rgb([225, 215, 205]),
            _ if y < 46 => Rgb([90 + y as u8, 140 + y as u8, 220]),
            _ => Rgb([60 + x as u8, 110, 50]),
        }
    })
}

/// Returns the image as a PNG file.
///
/// # Errors
/// When it cannot be encoded.
pub fn png() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    image()
        .write_to(&mut bytes, ImageFormat::Png)
        .context("encoding the self-test image")?;
    Ok(bytes.into_inner())
}
