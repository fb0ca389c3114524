//! The labels of a taxonomy as records without images, for methods that train on texts only.

use crate::records::fault::Broken;
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};

/// A dataset with one record per label.
pub struct Labels {
    name: String,
    ids: Vec<String>,
    units: [Unit; 1],
}

impl Labels {
    /// Creates records for the labels `ids` of the taxonomy file `name`.
    pub fn new(name: String, ids: Vec<String>) -> Self {
        let units = [Unit {
            shard: 0,
            part: 0,
            records: u32::try_from(ids.len()).unwrap_or(u32::MAX),
            bytes: 0,
        }];
        Self { name, ids, units }
    }
}

impl Dataset for Labels {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &str {
        &self.name
    }

    fn load(&self, _unit: usize) -> Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Ids(self.ids.clone())))
    }
}

struct Ids(Vec<String>);

impl Records for Ids {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let id = &self.0[row];
        Ok(Record::labelled(
            id.clone(),
            RecordImage::None,
            Some(id.clone()),
            id,
        ))
    }
}
