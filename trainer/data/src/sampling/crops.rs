//! The boxes of a dataset as separate records.

use std::sync::Arc;

use crate::records::boxes::Region;
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};
use crate::sampling::regions::crop_region;

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
    pub fn new(inner: Arc<dyn Dataset>) -> Self {
        let mut positions = Vec::new();
        let mut units = Vec::new();
        for (at, unit) in inner.units().iter().enumerate() {
            let mut boxes = Vec::new();
            let records = inner.load(at);
            for row in 0..unit.records {
                // An unreadable record contributes one entry, so that it is counted as broken.
                let record = records.read(row as usize);
                let count = record.map_or(1, |record| record.boxes.len());
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
            let missing = Fault::new(Cause::UnreadableImage, "the record has no such box");
            return Err(missing.of(&key));
        }
        let grounded = record.boxes.swap_remove(box_index as usize);
        let crop = match grounded.region {
            Region::Crop(image) => Ok(image),
            region @ Region::Relative(_) => {
                let image = record.image.decode();
                image.and_then(|image| crop_region(&region, &image).map(RecordImage::Decoded))
            }
        };
        let crop = crop.map_err(|fault| fault.of(&key))?;
        let (label, phrase) = (grounded.synset, grounded.phrase);
        Ok(Record::labelled(key, crop, label, phrase))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::flawed::{Flaw, Flawed};
    use crate::test_files::read_all;

    #[test]
    fn there_is_a_record_for_each_box() {
        let whole: Arc<dyn Dataset> = Arc::new(Flawed::new(&[3, 2]));
        let crops = Crops::new(Arc::clone(&whole));
        let mut expected = Vec::new();
        for record in read_all(&*whole).into_iter().map(Result::unwrap) {
            let image = record.image.decode().unwrap();
            for (index, grounded) in record.boxes.iter().enumerate() {
                let crop = crop_region(&grounded.region, &image).unwrap();
                let key = format!("{}#{index}", record.key);
                expected.push((key, grounded.phrase.clone(), grounded.synset.clone(), crop));
            }
        }
        let found = read_all(&crops).into_iter().map(|record| {
            let record = record.unwrap();
            assert!(record.boxes.is_empty());
            let label = record.synsets.first().cloned();
            let image = record.image.decode().unwrap();
            (record.key, record.caption, label, image)
        });
        assert!(expected.len() > 5);
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(crops.shard_name(0), "flawed.tar");
    }

    #[test]
    fn an_unreadable_record_is_one_broken_record_and_one_without_boxes_is_none() {
        let data = Flawed::new(&[3])
            .with(Flaw::Unreadable, [(0, 1)].into_iter())
            .with(Flaw::NoBox, [(0, 2)].into_iter());
        let boxes = data.load(0).unwrap().read(0).unwrap().boxes.len();
        let found = read_all(&Crops::new(Arc::new(data)));
        assert_eq!(found.len(), boxes + 1);
        let broken = found.into_iter().filter_map(Result::err);
        assert_eq!(broken.map(|b| b.key).collect::<Vec<_>>(), ["0/1"]);
    }
}
