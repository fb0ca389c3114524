//! Images of a batch: pixels or precomputed features.

use image::{Rgb, RgbImage};

use crate::batches::feature_rows::Features;

/// Square images of one size, 8 bits per value.
///
/// Stored as bytes because several batches are queued at a time: in f32 a batch of 768 pairs of 224
/// px would take 925 MB instead of 231.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pixels {
    /// Number of images.
    pub count: usize,
    /// Side in pixels.
    pub size: usize,
    /// `[count, 3, size, size]` in row-major order.
    pub bytes: Vec<u8>,
}

impl Pixels {
    /// Packs images of `size` x `size`.
    pub fn pack(size: u32, images: &[&RgbImage]) -> Self {
        let count = images.len();
        let mut bytes = Vec::with_capacity(count * 3 * (size as usize).pow(2));
        for image in images {
            for channel in 0..3 {
                bytes.extend(image.as_raw().iter().skip(channel).step_by(3));
            }
        }
        Self {
            count,
            size: size as usize,
            bytes,
        }
    }

    /// Returns the images one by one.
    pub fn images(&self) -> impl Iterator<Item = RgbImage> {
        let (side, pixels) = (self.size as u32, self.size.pow(2));
        let image = move |planes: &[u8]| {
            RgbImage::from_fn(side, side, |x, y| {
                let at = (y * side + x) as usize;
                Rgb([planes[at], planes[pixels + at], planes[2 * pixels + at]])
            })
        };
        self.bytes.chunks_exact((3 * pixels).max(1)).map(image)
    }

    /// Returns `[count, 3, size, size]` in [0, 1]: the values of
    /// [`espalier_core::input::to_planes`].
    pub fn to_planes(&self) -> Vec<f32> {
        let bytes = self.bytes.iter();
        bytes.map(|&byte| f32::from(byte) / 255.0).collect()
    }
}

/// Input of the image encoder: images or precomputed features.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageBatch {
    /// Images.
    Pixels(Pixels),
    /// Pooled features.
    Features(Features),
}

impl ImageBatch {
    /// Returns the number of images.
    pub fn count(&self) -> usize {
        match self {
            Self::Pixels(images) => images.count,
            Self::Features(features) => features.count,
        }
    }

    /// Returns the pixels; `None` if the batch holds features.
    pub fn pixels(&self) -> Option<&Pixels> {
        match self {
            Self::Pixels(images) => Some(images),
            Self::Features(_) => None,
        }
    }

    /// Returns the features; `None` if the batch holds images.
    pub fn features(&self) -> Option<&Features> {
        match self {
            Self::Pixels(_) => None,
            Self::Features(features) => Some(features),
        }
    }
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;

    #[test]
    fn packed_images_have_the_planes_of_core() {
        let image = |shift: u8| {
            RgbImage::from_fn(3, 3, |x, y| {
                Rgb([x as u8 * 90, y as u8 * 70 + shift, 255 - shift])
            })
        };
        let images = [image(0), image(9)];
        let packed = Pixels::pack(3, &images.each_ref());
        assert_eq!((packed.count, packed.size, packed.bytes.len()), (2, 3, 54));
        assert_eq!(packed.to_planes(), espalier_core::input::to_planes(&images));
        assert!(packed.images().eq(images));
    }
}
