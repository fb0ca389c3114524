//! Content hash of a record with precomputed features: its stored image bytes and its boxes.

use sha2::{Digest, Sha256};

use super::view::Subject;
use crate::records::boxes::Region;
use crate::records::fault::{Broken, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::Record;

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
                    place
                        .iter()
                        .for_each(|edge| boxes.update(edge.to_le_bytes()));
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
        let mut first = [0; 8];
        first.copy_from_slice(&self.photo[..8]);
        u64::from_le_bytes(first)
    }
}
