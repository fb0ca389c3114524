//! The boxes of a dataset as records of their own.

use std::sync::Arc;

use espalier_core::input::crop_box;

use super::boxes::{BoxTally, Region};
use super::fault::{Broken, Cause, Fault};
use super::picture::Picture;
use super::source::{Dataset, Record, Records, Unit};

/// A box of a record: the record's row in its unit, the box's place in the record.
type Place = (u32, u32);

/// One record a box. The key is that of the whole picture, `#` and the box's place.
pub struct Crops {
    inner: Arc<dyn Dataset>,
    places: Vec<Arc<Vec<Place>>>,
    units: Vec<Unit>,
}

impl Crops {
    /// The boxes of all records that can be read. Reads the records once, without decoding.
    #[must_use]
    pub fn new(inner: Arc<dyn Dataset>) -> Self {
        let mut places = Vec::new();
        let mut units = Vec::new();
        for (at, unit) in inner.units().iter().enumerate() {
            let mut boxes = Vec::new();
            if let Ok(records) = inner.load(at) {
                for row in 0..unit.records {
                    let count = records.read(row as usize).map_or(0, |r| r.boxes.len());
                    boxes.extend((0..count as u32).map(|of| (row, of)));
                }
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
        let unreadable = |detail: &str| Fault::new(Cause::UnreadablePicture, detail).of(&key);
        if at as usize >= record.boxes.len() {
            return Err(unreadable("the box is gone"));
        }
        let this = record.boxes.swap_remove(at as usize);
        let picture = match this.region {
            Region::Crop(picture) => picture,
            Region::Relative(place) => {
                let whole = record.picture.decode().map_err(|f| f.of(&key))?;
                let part = crop_box(&whole, place.map(|v| v as f32));
                Picture::Decoded(part.ok_or_else(|| unreadable("the box holds no pixel"))?)
            }
        };
        Ok(Record {
            picture,
            caption: this.phrase,
            boxes: Vec::new(),
            synsets: this.synset.into_iter().collect(),
            chain: None,
            tally: BoxTally::default(),
            key,
        })
    }
}
