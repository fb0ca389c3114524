//! A photo for embedding, from its file or from pixels, in the same steps for every program.

use image::RgbImage;

use super::result::PhotoInfo;
use crate::bundle::sha256_hex;
use crate::error::Result;
use crate::input::{crop_box, decode};

/// A decoded photo and the facts about its file that a result reports.
#[derive(Clone, Debug)]
pub struct Photo {
    /// Size of the whole upright photo, and hash of its file.
    pub info: PhotoInfo,
    /// All pixels, upright.
    pub pixels: RgbImage,
}

impl Photo {
    /// Decodes a photo file at its full resolution.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn open(bytes: &[u8]) -> Result<Self> {
        Ok(Self::new(decode(bytes)?, sha256_hex(bytes)))
    }

    /// Returns a photo that is in memory already, upright; its hash is that of its pixels, row by row
    /// with three bytes each.
    #[must_use]
    pub fn of_pixels(pixels: RgbImage) -> Self {
        let sha256 = sha256_hex(pixels.as_raw());
        Self::new(pixels, sha256)
    }

    fn new(pixels: RgbImage, sha256: String) -> Self {
        let (width, height) = pixels.dimensions();
        Self {
            info: PhotoInfo {
                width,
                height,
                sha256,
            },
            pixels,
        }
    }

    /// Crops the photo to the part inside a box: left, top, right, bottom as shares of the sides.
    ///
    /// The photo is cropped at full resolution, before it is resized, so that a
    /// small box has as much detail as the file holds. [`Photo::info`] stays that of the whole
    /// photo. `None` if the box holds no pixel.
    #[must_use]
    pub fn crop(self, region: [f32; 4]) -> Option<Self> {
        let pixels = crop_box(&self.pixels, region)?;
        Some(Self { pixels, ..self })
    }
}

#[cfg(test)]
mod tests {
    use image::{ImageFormat, Rgb};

    use super::*;

    /// Returns a photo of 600 x 400 pixels in which every second pixel is white.
    fn checkerboard() -> Vec<u8> {
        let image = RgbImage::from_fn(600, 400, |x, y| {
            Rgb([if (x + y) % 2 == 0 { 255 } else { 0 }; 3])
        });
        let mut bytes = std::io::Cursor::new(Vec::new());
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn a_crop_keeps_every_pixel_of_the_file() {
        let photo = Photo::open(&checkerboard()).unwrap();
        let info = photo.info.clone();
        assert_eq!((info.width, info.height), (600, 400));
        let part = photo.crop([0.5, 0.25, 0.75, 0.5]).unwrap();
        assert_eq!(part.pixels.dimensions(), (150, 100));
        // A part of a resized photo would be grey.
        assert!(
            part.pixels
                .pixels()
                .all(|p| p.0 == [0; 3] || p.0 == [255; 3])
        );
        assert_eq!(part.info, info);
    }

    #[test]
    fn a_box_without_a_pixel_gives_no_crop() {
        let photo = Photo::open(&checkerboard()).unwrap();
        assert!(photo.crop([0.5, 0.5, 0.5, 0.9]).is_none());
        assert!(Photo::open(b"no photo").is_err());
    }
}
