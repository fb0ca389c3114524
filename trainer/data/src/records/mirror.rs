//! Horizontal flips of records, where the texts stay true.

use image::RgbImage;
use image::imageops::flip_horizontal_in_place;

use crate::records::boxes::Region;
use crate::records::fault::Fault;
use crate::records::record_image::RecordImage;
use crate::records::source::Record;

/// Words that a horizontal flip makes wrong.
const SIDES: [&str; 6] = [
    "left",
    "right",
    "leftmost",
    "rightmost",
    "clockwise",
    "counterclockwise",
];

/// Returns whether a text contains a word of direction.
fn mentions_side(text: &str) -> bool {
    text.split(|c: char| !c.is_alphabetic())
        .any(|word| SIDES.iter().any(|side| word.eq_ignore_ascii_case(side)))
}

fn flipped(image: &RecordImage) -> Result<RgbImage, Fault> {
    let mut pixels = image.decode()?;
    flip_horizontal_in_place(&mut pixels);
    Ok(pixels)
}

/// Returns whether a text of the record mentions left or right.
pub(crate) fn mentions_sides(record: &Record) -> bool {
    let phrases = record.boxes.iter().map(|grounded| grounded.phrase.as_str());
    phrases.chain(record.captions()).any(mentions_side)
}

/// Flips the image and boxes of a record horizontally; leaves it unchanged if a text mentions left
/// or right.
///
/// # Errors
/// If an image cannot be read.
pub(crate) fn mirrored(record: Record) -> Result<Record, Fault> {
    mirrored_by(record, |image| Ok(RecordImage::Decoded(flipped(&image)?)))
}

/// As [`mirrored`], but leaves the pixels as they are, for a reader that needs only the boxes.
pub(crate) fn with_mirrored_boxes(record: Record) -> Result<Record, Fault> {
    mirrored_by(record, Ok)
}

fn mirrored_by(
    mut record: Record,
    flip: impl Fn(RecordImage) -> Result<RecordImage, Fault>,
) -> Result<Record, Fault> {
    if mentions_sides(&record) {
        return Ok(record);
    }
    record.image = flip(record.image)?;
    for grounded in &mut record.boxes {
        match &mut grounded.region {
            Region::Relative(place) => {
                let [left, _, right, _] = *place;
                (place[0], place[2]) = (1.0 - right, 1.0 - left);
            }
            Region::Crop(crop) => {
                let stored = std::mem::replace(crop, RecordImage::None);
                *crop = flip(stored)?;
            }
        }
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;
    use crate::records::boxes::GroundedBox;

    fn record(caption: &str) -> Record {
        let image = RgbImage::from_fn(4, 1, |x, _| Rgb([x as u8; 3]));
        let region = Region::Relative([0.0, 0.5, 0.25, 1.0]);
        Record {
            boxes: vec![GroundedBox::new("a cat", region, None)],
            ..Record::labelled("0".into(), RecordImage::Decoded(image), None, caption)
        }
    }

    fn red_values(record: &Record) -> Vec<u8> {
        let pixels = record.image.decode().unwrap();
        pixels.pixels().map(|p| p[0]).collect()
    }

    #[test]
    fn images_and_boxes_are_flipped_together() {
        let flipped = mirrored(record("a cat in bright light")).unwrap();
        assert_eq!(red_values(&flipped), [3, 2, 1, 0]);
        let place = flipped.boxes[0].region.relative();
        assert_eq!(place, Some([0.75, 0.5, 1.0, 1.0]));
    }

    #[test]
    fn a_record_whose_caption_mentions_a_side_is_unchanged() {
        let unchanged = mirrored(record("a cat on the Left, asleep")).unwrap();
        assert_eq!(red_values(&unchanged), [0, 1, 2, 3]);
    }
}
