//! The EXIF orientation flag: cameras store the pixels as the sensor saw them, and the orientation
//! of the camera as a flag.

use ::image::metadata::Orientation;
use ::image::{DynamicImage, RgbImage};

/// Reads the orientation from an EXIF block, with or without the `Exif` prefix that some writers
/// include. A missing or unreadable flag means upright.
pub(super) fn from_exif(exif: Option<&[u8]>) -> Orientation {
    let tiff = exif.map(|e| e.strip_prefix(b"Exif\0\0").unwrap_or(e));
    tiff.and_then(Orientation::from_exif_chunk)
        .unwrap_or(Orientation::NoTransforms)
}

/// Rotates or mirrors the image so that it is upright.
pub(super) fn apply(image: RgbImage, orientation: Orientation) -> RgbImage {
    if orientation == Orientation::NoTransforms {
        return image;
    }
    let mut image = DynamicImage::ImageRgb8(image);
    image.apply_orientation(orientation);
    image.into_rgb8()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a minimal EXIF block: little-endian TIFF with this one tag.
    fn exif(flag: u16) -> Vec<u8> {
        let mut block = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        block.extend(flag.to_le_bytes());
        block.extend([0; 6]);
        block
    }

    #[test]
    fn the_flag_is_read_with_and_without_prefix() {
        assert_eq!(from_exif(Some(&exif(6))), Orientation::Rotate90);
        let prefixed = [b"Exif\0\0".to_vec(), exif(8)].concat();
        assert_eq!(from_exif(Some(&prefixed)), Orientation::Rotate270);
    }

    #[test]
    fn a_missing_or_broken_flag_means_upright() {
        for block in [
            None,
            Some(&b"rubbish"[..]),
            Some(&b""[..]),
            Some(&exif(0)[..]),
        ] {
            assert_eq!(from_exif(block), Orientation::NoTransforms);
        }
        assert_eq!(from_exif(Some(&exif(77))), Orientation::NoTransforms);
    }
}
