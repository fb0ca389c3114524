//! Boxes in the frame that they were drawn in: programs that draw boxes show some photos as they are stored and
//! others upright, as their EXIF orientation says.

use crate::records::boxes::{BoxTally, GroundedBox, Region};
use crate::records::record_image::RecordImage;

/// Largest difference of two proportions (as a ratio) that is due to rounding and resizing.
const TOLERANCE: f64 = 1.02;

/// Converts boxes of a photo to its upright frame. `listed` is the size that the index states for the photo, by
/// which the frame of the boxes is known.
///
/// Boxes of a photo whose proportions fit neither frame are removed: they belong to other pixels. A size that fits
/// both frames of a turned photo, or none, is taken for the upright one.
pub(crate) fn place(
    image: &RecordImage,
    listed: Option<(f64, f64)>,
    boxes: &mut Vec<GroundedBox>,
    tally: &mut BoxTally,
) {
    let listed = listed.filter(|(width, height)| *width > 0.0 && *height > 0.0);
    let Some(frame) = image.frame().filter(|_| !boxes.is_empty()) else {
        return;
    };
    let Some(listed) = listed else {
        tally.frame_unclear += u64::from(frame.is_turned());
        return;
    };
    if fits(listed, frame.upright()) {
        tally.frame_unclear += u64::from(frame.is_turned() && fits(listed, frame.stored));
    } else if fits(listed, frame.stored) {
        tally.turned += boxes.len() as u64;
        for grounded in boxes {
            if let Region::Relative(place) = &mut grounded.region {
                *place = frame.upright_box(*place);
            }
        }
    } else {
        tally.other_proportions += boxes.len() as u64;
        boxes.clear();
    }
}

/// Returns whether a listed size has the proportions of a photo.
fn fits((width, height): (f64, f64), (x, y): (u32, u32)) -> bool {
    let (x, y) = (f64::from(x), f64::from(y));
    // A side of a resized photo is rounded to a whole number of pixels.
    let rounding = 1.0 + 1.0 / x.min(y).min(width).min(height);
    let ratio = (width * y) / (height * x);
    ratio.max(1.0 / ratio) <= TOLERANCE * rounding
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a JPEG of 40 x 30 stored pixels with this orientation.
    fn photo(flag: u8) -> RecordImage {
        let mut bytes = Vec::new();
        let image = image::RgbImage::new(40, 30);
        let mut encoder = image::codecs::jpeg::JpegEncoder::new(&mut bytes);
        let exif = [
            b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".as_slice(),
            &[flag, 0],
            &[0; 6],
        ];
        image::ImageEncoder::set_exif_metadata(&mut encoder, exif.concat()).unwrap();
        encoder.encode_image(&image).unwrap();
        RecordImage::Encoded(bytes)
    }

    const AS_GIVEN: [f64; 4] = [0.0, 0.5, 0.25, 1.0];

    fn placed(flag: u8, listed: (f64, f64)) -> (Vec<[f64; 4]>, BoxTally) {
        let mut boxes = vec![GroundedBox::new("a cat", Region::Relative(AS_GIVEN), None)];
        let mut tally = BoxTally::default();
        place(&photo(flag), Some(listed), &mut boxes, &mut tally);
        let places = boxes.iter().map(|b| b.region.relative().unwrap());
        (places.collect(), tally)
    }

    #[test]
    fn boxes_of_the_stored_frame_are_turned_and_others_are_not() {
        // Orientation 6: the camera was turned to the left. The index of some data states no size.
        for (flag, listed, place, [turned, frame_unclear]) in [
            (6, (30.0, 40.0), AS_GIVEN, [0, 0]),
            (6, (400.0, 300.0), [0.0, 0.0, 0.5, 0.25], [1, 0]),
            (1, (800.0, 601.0), AS_GIVEN, [0, 0]),
            (3, (40.0, 30.0), AS_GIVEN, [0, 1]),
            (6, (0.0, 0.0), AS_GIVEN, [0, 1]),
        ] {
            let tally = BoxTally {
                turned,
                frame_unclear,
                ..BoxTally::default()
            };
            assert_eq!(
                placed(flag, listed),
                (vec![place], tally),
                "{flag} {listed:?}"
            );
        }
    }

    #[test]
    fn boxes_of_other_pixels_are_removed_and_counted() {
        for (flag, listed) in [(1, (30.0, 40.0)), (6, (40.0, 40.0))] {
            let (places, tally) = placed(flag, listed);
            assert_eq!((places.len(), tally.other_proportions), (0, 1));
        }
    }
}
