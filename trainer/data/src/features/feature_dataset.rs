//! A dataset in memory whose records have features instead of images.

use std::sync::Arc;

use crate::records::fault::Broken;
use crate::records::source::{Dataset, Record, Records, Unit};

/// Records in memory, with features instead of images.
pub(super) struct FeatureDataset {
    pub(super) inner: Arc<dyn Dataset>,
    pub(super) units: Vec<Unit>,
    pub(super) records: Vec<Arc<Vec<Result<Record, Broken>>>>,
}

impl Dataset for FeatureDataset {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, shard: u32) -> &str {
        self.inner.shard_name(shard)
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        Ok(Box::new(RecordsInMemory(Arc::clone(&self.records[unit]))))
    }

    fn weight(&self, unit: usize) -> f64 {
        self.inner.weight(unit)
    }
}

struct RecordsInMemory(Arc<Vec<Result<Record, Broken>>>);

impl Records for RecordsInMemory {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        self.0[row].clone()
    }
}
