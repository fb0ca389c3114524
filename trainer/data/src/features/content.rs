//! A record without its pixels, and its content hash: that of its stored image bytes and its boxes.

use sha2::{Digest, Sha256};

use super::view::Subject;
use crate::records::boxes::Region;
use crate::records::fault::{Broken, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};

/// Hashes of a readable record, without its texts.
pub(super) struct Content {
    photo: [u8; 32],
    boxes: [u8; 32],
}

fn digest(image: &RecordImage) -> Result<[u8; 32], Fault> {
    let mut hash = Sha256::new();
    match image {
        RecordImage::None | RecordImage::Features(_) => {}
        RecordImage::Encoded(bytes) => hash.update(bytes),
        RecordImage::ByteRange(range) => hash.update(range.read()?),
        RecordImage::Decoded(pixels) => {
            hash.update(pixels.width().to_le_bytes());
            hash.update(pixels.as_raw());
        }
    }
    Ok(hash.finalize().into())
}

impl Content {
    /// Hashes the bytes of the images without decoding them.
    pub(super) fn of(record: &Record) -> Result<Self, Broken> {
        let broken = |fault: Fault| fault.of(&record.key);
        let photo = digest(&record.image).map_err(broken)?;
        let mut boxes = Sha256::new();
        for grounded in &record.boxes {
            match &grounded.region {
                Region::Relative(place) => {
                    for edge in place {
                        boxes.update(edge.to_le_bytes());
                    }
                }
                Region::Crop(crop) => boxes.update(digest(crop).map_err(broken)?),
            }
        }
        Ok(Self {
            photo,
            boxes: boxes.finalize().into(),
        })
    }

    /// Returns the content that the features of a subject depend on.
    pub(super) fn key(&self, subject: Subject) -> Vec<u8> {
        match subject {
            Subject::Photo => self.photo.to_vec(),
            Subject::Crops => [self.photo, self.boxes].concat(),
        }
    }

    /// Returns the seed of the augmentation.
    pub(super) fn seed(&self) -> u64 {
        let first = self.photo.first_chunk();
        first.map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// A readable record, without the pixels.
pub(super) struct HashedRecord {
    pub(super) record: Record,
    pub(super) content: Content,
}

impl HashedRecord {
    /// Reads a record of a unit.
    pub(super) fn read(loaded: &dyn Records, row: usize) -> Result<Self, Broken> {
        let record = loaded.read(row)?;
        let content = Content::of(&record)?;
        let record = without_pixels(record);
        Ok(Self { record, content })
    }
}

/// Removes the pixels of a record, but keeps whether it has an image.
fn without_pixels(mut record: Record) -> Record {
    if !matches!(record.image, RecordImage::None) {
        record.image = RecordImage::Encoded(Vec::new());
    }
    for grounded in &mut record.boxes {
        if matches!(grounded.region, Region::Crop(_)) {
            grounded.region = Region::Crop(RecordImage::None);
        }
    }
    record
}
