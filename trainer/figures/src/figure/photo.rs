//! Thumbnails of photos inside a figure.

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::{self, FilterType};
use image::{ImageEncoder, RgbImage};

/// Longer side of the thumbnail: 300 dots per inch for slightly more than an inch.
const SIDE: u32 = 360;

/// Quality of the JPEG: its blocks are not visible at this size.
const QUALITY: u8 = 88;

/// A small JPEG with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail {
    name: String,
    jpeg: Vec<u8>,
    width: u32,
    height: u32,
}

impl Thumbnail {
    /// Returns a thumbnail of a photo, never larger than the photo.
    ///
    /// # Errors
    /// When the encoder fails, as it does for an image without pixels.
    pub fn new(name: impl Into<String>, photo: &RgbImage) -> anyhow::Result<Self> {
        let name = name.into();
        let (width, height) = photo.dimensions();
        let scale = (f64::from(SIDE) / f64::from(width.max(height).max(1))).min(1.0);
        let side = |v: u32| ((f64::from(v) * scale).round() as u32).max(1);
        let small = imageops::resize(photo, side(width), side(height), FilterType::Triangle);
        let mut jpeg = Vec::new();
        let colour = image::ExtendedColorType::Rgb8;
        JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
            .write_image(&small, small.width(), small.height(), colour)
            .with_context(|| format!("a small copy of {name}"))?;
        Ok(Self {
            name,
            jpeg,
            width: small.width(),
            height: small.height(),
        })
    }

    /// Returns the name of the photo.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the width and height that fit into a box, keeping the aspect ratio.
    pub fn within(&self, width: f64, height: f64) -> [f64; 2] {
        let aspect = f64::from(self.width) / f64::from(self.height.max(1));
        if aspect * height > width {
            [width, width / aspect]
        } else {
            [height * aspect, height]
        }
    }

    /// Returns the file as a `data:` URL.
    pub fn data_uri(&self) -> String {
        let jpeg = BASE64_STANDARD.encode(&self.jpeg);
        format!("data:image/jpeg;base64,{jpeg}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbnail_keeps_the_aspect_ratio_and_never_grows() {
        let wide = Thumbnail::new("w", &RgbImage::new(1440, 720)).unwrap();
        assert_eq!((wide.width, wide.height), (360, 180));
        assert_eq!(wide.within(100.0, 100.0), [100.0, 50.0]);
        let small = Thumbnail::new("s", &RgbImage::new(32, 64)).unwrap();
        assert_eq!((small.width, small.height), (32, 64));
        assert_eq!(small.within(100.0, 100.0), [50.0, 100.0]);
        assert!(small.data_uri().starts_with("data:image/jpeg;base64,/9j/"));
    }
}
