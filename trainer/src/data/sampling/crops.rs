//! The boxes of a dataset as separate records.

use std::sync::Arc;

use crate::data::records::boxes::Region;
use crate::data::records::fault::{Broken, Cause, Fault};
use crate::data::records::picture::Picture;
use crate::data::records::source::{Dataset, Record, Records, Unit};
use crate::data::sampling::draw::crop_region;

/// A box: row of the record in its unit, index of the box in the record.
type Place = (u32, u32);

/// A dataset with one record per box. The key is that of the whole image, followed by `#` and the
/// index of the box.
pub struct Crops {
    inner: Arc<dyn Dataset>,
    places: Vec<Arc<Vec<Place>>>,
    units: Vec<Unit>,
}

impl Crops {
    /// Lists the boxes of all records. Reads the records once, without decoding.
    #[must_use]
    pub fn new(inner: Arc<dyn Dataset>) -> Self {
        let mut places = Vec::new();
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
                boxes.extend((0..count as u32).map(|of| (row, of)));
            }
            units.push(Unit {
                records: u32::try_from(boxes.len()).unwrap_or(u32::MAX),
                ..*unit
            });
            places.push(Arc::new(boxes));
        }
        Self {
            inner,
            places,
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
            whole: self.inner.load(unit)?,
            places: Arc::clone(&self.places[unit]),
        }))
    }
}

struct Boxes {
    whole: Box<dyn Records>,
    places: Arc<Vec<Place>>,
}

impl Records for Boxes {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let (of, at) = self.places[row];
        let mut record = self.whole.read(of as usize)?;
        let key = format!("{}#{at}", record.key);
        if at as usize >= record.boxes.len() {
            let gone = Fault::new(Cause::UnreadablePicture, "the box is gone");
            return Err(gone.of(&key));
        }
        let this = record.boxes.swap_remove(at as usize);
        let part = match this.region {
            Region::Crop(picture) => Ok(picture),
            region @ Region::Relative(_) => {
                let whole = record.picture.decode();
                whole.and_then(|whole| crop_region(&region, &whole).map(Picture::Decoded))
            }
        };
        let part = part.map_err(|fault| fault.of(&key))?;
        Ok(Record::labelled(key, part, this.synset, this.phrase))
    }
}
