//! A record without its pixels, and a hash of them.

use super::content::Content;
use crate::records::boxes::Region;
use crate::records::fault::Broken;
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};

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
