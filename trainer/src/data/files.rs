//! Picture files, or boxes of them, as a dataset: one record a file or box, in the given order.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use espalier_core::input::crop_box;

use super::boxes::BoxTally;
use super::fault::{Broken, Cause, Fault};
use super::picture::Picture;
use super::source::{Dataset, Record, Records, Unit};

/// Records that are loaded as one unit.
const RECORDS: usize = 1024;

/// One picture of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its file.
    pub path: PathBuf,
    /// Left, top, right and bottom as shares of width and height, where a part is meant.
    pub region: Option<[f32; 4]>,
}

impl From<PathBuf> for Item {
    fn from(path: PathBuf) -> Self {
        Self { path, region: None }
    }
}

/// A list of pictures. The key of a record is its place in the list.
pub struct Files {
    name: String,
    items: Arc<Vec<Item>>,
    units: Vec<Unit>,
}

impl Files {
    /// A dataset of these pictures; `name` stands for it in reports.
    #[must_use]
    pub fn new(name: String, items: Vec<Item>) -> Self {
        let units = items.chunks(RECORDS).zip(0..).map(|(chunk, part)| Unit {
            shard: 0,
            part,
            records: u32::try_from(chunk.len()).unwrap_or(u32::MAX),
            bytes: 0,
        });
        Self {
            units: units.collect(),
            name,
            items: Arc::new(items),
        }
    }
}

impl Dataset for Files {
    fn units(&self) -> &[Unit] {
        &self.units
    }

    fn shard_name(&self, _shard: u32) -> &str {
        &self.name
    }

    fn load(&self, unit: usize) -> Result<Box<dyn Records>, Broken> {
        Ok(Box::new(Rows {
            items: Arc::clone(&self.items),
            first: unit * RECORDS,
        }))
    }
}

struct Rows {
    items: Arc<Vec<Item>>,
    first: usize,
}

impl Records for Rows {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let at = self.first + row;
        let item = &self.items[at];
        let broken = |fault: Fault| fault.of(item.path.display().to_string());
        let bytes = fs::read(&item.path)
            .map_err(|e| broken(Fault::new(Cause::MissingPicture, e.to_string())))?;
        let mut picture = Picture::Encoded(bytes);
        if let Some(region) = item.region {
            let whole = picture.decode().map_err(broken)?;
            let part = crop_box(&whole, region).ok_or_else(|| {
                let detail = format!("the box {region:?} holds no pixel");
                broken(Fault::new(Cause::UnreadablePicture, detail))
            })?;
            picture = Picture::Decoded(part);
        }
        Ok(Record {
            key: at.to_string(),
            picture,
            caption: String::new(),
            boxes: Vec::new(),
            synsets: Vec::new(),
            chain: None,
            tally: BoxTally::default(),
        })
    }
}
