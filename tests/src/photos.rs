//! Synthetic photos for tests, so that no third-party images are needed.

use std::path::{Path, PathBuf};

use image::codecs::jpeg::JpegEncoder;
use image::imageops::{FilterType, replace, resize};
use image::{DynamicImage, ExtendedColorType, GrayImage, ImageEncoder, Rgb, RgbImage, RgbaImage};

/// Draws a landscape of `width` x `height`: sky, sun, hills, a house with a red roof and a tree. No
/// two corners are alike, so that a photo that was not rotated upright looks different.
#[must_use]
pub fn landscape(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let (u, v) = (
            f64::from(x) / f64::from(width),
            f64::from(y) / f64::from(height),
        );
        Rgb(colour(u, v).map(|level| (255.0 * level).round().clamp(0.0, 255.0) as u8))
    })
}

/// Returns the colour at a point of the unit square; the origin is at the upper left.
fn colour(u: f64, v: f64) -> [f64; 3] {
    let within = |x: f64, y: f64, r: f64| (u - x).hypot(v - y) < r;
    let hill = 0.62 + 0.06 * (7.0 * u).sin() + 0.02 * (23.0 * u).sin();
    let roof = (0.38..0.52).contains(&v) && (u - 0.33).abs() < (v - 0.38) * 1.2;
    let wall = (0.52..0.74).contains(&v) && (u - 0.33).abs() < 0.13;
    let window = wall && (u - 0.38).abs() < 0.03 && (v - 0.6).abs() < 0.04;
    let crown = within(0.76, 0.48, 0.12) || within(0.7, 0.54, 0.09) || within(0.83, 0.55, 0.08);
    let trunk = (u - 0.76).abs() < 0.018 && (0.55..0.8).contains(&v);
    // Grain, so that it compresses like a photo and not like a drawing.
    let grain = 0.015 * ((u * 911.0).sin() * (v * 733.0).cos());
    let flat = match () {
        () if window => [0.75, 0.85, 0.95],
        () if roof => [0.72, 0.16, 0.12],
        () if wall => [0.93, 0.88, 0.76],
        () if crown => [0.12, 0.38 + 0.1 * (40.0 * u).sin() * (40.0 * v).cos(), 0.14],
        () if trunk => [0.36, 0.24, 0.15],
        () if v > hill => [0.3 + 0.2 * (1.0 - v), 0.55 - 0.15 * v, 0.2],
        () if within(0.14, 0.16, 0.07) => [1.0, 0.92, 0.55],
        () => [0.45 + 0.3 * v, 0.65 + 0.25 * v, 0.95],
    };
    flat.map(|level| level + grain)
}

/// Encodes an image as a JPEG whose EXIF orientation (1 to 8) tells the viewer how to rotate it.
///
/// # Panics
/// If the encoder fails, which does not happen for an image in memory.
#[must_use]
pub fn jpeg(picture: &RgbImage, orientation: u8) -> Vec<u8> {
    // One entry, "orientation" (0x0112), a 16-bit number.
    let mut exif = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
    let done = encoder
        .set_exif_metadata(exif)
        .map_err(|e| e.to_string())
        .and_then(|()| {
            let (width, height) = picture.dimensions();
            let colour = ExtendedColorType::Rgb8;
            encoder
                .write_image(picture, width, height, colour)
                .map_err(|e| e.to_string())
        });
    done.unwrap_or_else(|e| panic!("JPEG: {e}"));
    bytes
}

/// Converts an image to grey levels.
#[must_use]
pub fn grey(picture: &RgbImage) -> GrayImage {
    DynamicImage::ImageRgb8(picture.clone()).to_luma8()
}

/// Adds transparency to an image: it fades out towards the lower right corner.
#[must_use]
pub fn fading(picture: &RgbImage) -> RgbaImage {
    let (width, height) = picture.dimensions();
    RgbaImage::from_fn(width, height, |x, y| {
        let Rgb([r, g, b]) = *picture.get_pixel(x, y);
        let far = f64::from(x) / f64::from(width) + f64::from(y) / f64::from(height);
        image::Rgba([r, g, b, (255.0 - 127.5 * far) as u8])
    })
}

/// Returns an incompressible image: its file has about three bytes per pixel.
#[must_use]
pub fn noise(width: u32, height: u32) -> RgbImage {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    RgbImage::from_fn(width, height, |_, _| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let [r, g, b, ..] = (seed >> 20).to_le_bytes();
        Rgb([r, g, b])
    })
}

/// Puts two photos side by side, both 288 pixels high.
#[must_use]
pub fn side_by_side(a: &RgbImage, b: &RgbImage) -> RgbImage {
    const HEIGHT: u32 = 288;
    let scaled = |photo: &RgbImage| {
        let width = photo.width() * HEIGHT / photo.height().max(1);
        resize(photo, width.max(1), HEIGHT, FilterType::Triangle)
    };
    let (a, b) = (scaled(a), scaled(b));
    let mut both = RgbImage::new(a.width() + b.width(), HEIGHT);
    replace(&mut both, &a, 0, 0);
    replace(&mut both, &b, i64::from(a.width()), 0);
    both
}

/// Writes bytes to a file in a folder.
///
/// # Panics
/// When it cannot be written.
#[must_use]
pub fn keep(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}

/// Encodes an image in the format of the name's extension, and writes it to a folder.
///
/// # Panics
/// If it cannot be encoded or written.
#[must_use]
pub fn save(folder: &Path, name: &str, picture: impl Into<DynamicImage>) -> PathBuf {
    let path = folder.join(name);
    picture
        .into()
        .save(&path)
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    path
}
