//! A dataset for tests: records that are unusable at chosen places.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use image::{ImageFormat, RgbImage};

use crate::Synthetic;
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Dataset, Record, Records, Unit};

/// What is wrong with a record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flaw {
    NoBox,
    Unreadable,
    StorageFailed,
    /// Only the header of the image can be read.
    DamagedPixels,
}

/// Units of synthetic records, some of which have a flaw.
#[derive(Clone)]
pub(crate) struct Flawed {
    units: Vec<Unit>,
    /// By unit and row.
    flaws: Arc<BTreeMap<(u32, u32), Flaw>>,
    /// Units that were fetched ahead.
    pub(crate) fetched: Arc<Mutex<Vec<usize>>>,
    /// Number of records read.
    pub(crate) read: Arc<AtomicUsize>,
}

impl Flawed {
    /// Creates units of this many records each.
    pub(crate) fn new(records: &[u32]) -> Self {
        let unit = |(part, &records)| Unit {
            shard: 0,
            part,
            records,
            bytes: 1,
        };
        Self {
            units: (0..).zip(records).map(unit).collect(),
            flaws: Arc::default(),
            fetched: Arc::default(),
            read: Arc::default(),
        }
    }

    /// Adds a flaw to these records, given by unit and row.
    pub(crate) fn with(mut self, flaw: Flaw, records: impl Iterator<Item = (u32, u32)>) -> Self {
        Arc::make_mut(&mut self.flaws).extend(records.map(|record| (record, flaw)));
        self
    }
}

impl Dataset for Flawed {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &'static str {
        "flawed.tar"
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        let data = self.clone();
        Ok(Box::new(FlawedRecords { data, unit }))
    }

    fn prefetch(&self, unit: usize) {
        // A lane that did not wait for this would read before it is done.
        sleep(Duration::from_millis(20));
        self.fetched.lock().unwrap().push(unit);
    }
}

struct FlawedRecords {
    data: Flawed,
    unit: usize,
}

impl Records for FlawedRecords {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        self.data.read.fetch_add(1, Ordering::Relaxed);
        let key = format!("{}/{row}", self.unit);
        let flaw = self.data.flaws.get(&(self.unit as u32, row as u32));
        let broken = |cause| Fault::new(cause, "on purpose").of(key.clone());
        let mut record = Synthetic::new(1, 16, self.unit as u64).load(0)?.read(row)?;
        record.key.clone_from(&key);
        match flaw {
            None => {}
            Some(Flaw::NoBox) => record.boxes.clear(),
            Some(Flaw::Unreadable) => return Err(broken(Cause::UnreadableImage)),
            Some(Flaw::StorageFailed) => return Err(broken(Cause::StorageFailed)),
            Some(Flaw::DamagedPixels) => {
                let mut png = Vec::new();
                RgbImage::new(16, 16)
                    .write_to(&mut Cursor::new(&mut png), ImageFormat::Png)
                    .unwrap();
                // Within the compressed pixels, which begin at byte 41.
                png[43..48].fill(0xff);
                record.image = RecordImage::Encoded(png);
            }
        }
        Ok(record)
    }
}
