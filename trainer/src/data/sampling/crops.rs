//! The boxes of a dataset as separate records.

use std::sync::Arc;

use crate::data::records::boxes::Region;
use crate::data::records::fault::{Broken, Cause, Fault};
use crate::data::records::picture::Picture;
use crate::data::records::source::{Dataset, Record, Records, Unit};
use crate::data::sampling::regions::crop_region;

/// A box: row of the record in its unit, index of the box in the record.
type BoxPosition = (u32, u32);

/// A dataset with one record per box. The key is that of the whole image, followed by `#` and the
/// index of the box.
pub struct Crops {
    inner: Arc<dyn Dataset>,
    positions: Vec<Arc<Vec<BoxPosition>>>,
    units: Vec<Unit>,
}

impl Crops {
    /// Lists the boxes of all records. Reads the records once, without decoding.
    #[must_use]
    pub fn new(inner: Arc<dyn Dataset>) -> Self {
        let mut positions = Vec::new();
        let mut units = Vec::new();
        for (at, unit) in inner.units().iter().enumerate() {
            let mut boxes = Vec::new();
            let records = inner.load(at);
            for row in 0..unit.records {
                let record = records.as_ref().map_err(Broken::clone);
                // An unreadable record contributes one entry, so that it is counted as broken.
                let count = record
                    .and_then(|records| records.read(row as usize))
                    .map_or(1, |record| record.boxes.len());
                boxes.extend((0..count as u32).map(|box_index| (row, box_index)));
            }
            units.push(Unit {
                records: u32::try_from(boxes.len()).unwrap_or(u32::MAX),
                ..*unit
            });
            positions.push(Arc::new(boxes));
        }
        Self {
            inner,
            positions,
            units,
        }
    }
}

impl Dataset for Crops {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.inner.shard_name(shard)
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Boxes {
            images: self.inner.load(unit)?,
            positions: Arc::clone(&self.positions[unit]),
        }))
    }
}

struct Boxes {
    images: Box<dyn Records>,
    positions: Arc<Vec<BoxPosition>>,
}

impl Records for Boxes {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let (record_row, box_index) = self.positions[row];
        let mut record = self.images.read(record_row as usize)?;
        let key = format!("{}#{box_index}", record.key);
        if box_index as usize >= record.boxes.len() {
            let missing = Fault::new(Cause::UnreadablePicture, "the record has no such box");
            return Err(missing.of(&key));
        }
        let grounded = record.boxes.swap_remove(box_index as usize);
        let crop = match grounded.region {
            Region::Crop(picture) => Ok(picture),
            region @ Region::Relative(_) => {
                let image = record.picture.decode();
                image.and_then(|image| crop_region(&region, &image).map(Picture::Decoded))
            }
        };
        let crop = crop.map_err(|fault| fault.of(&key))?;
        Ok(Record::labelled(
            key,
            crop,
            grounded.synset,
            grounded.phrase,
        ))
    }
}
