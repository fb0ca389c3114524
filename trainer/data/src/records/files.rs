//! Image files, or boxes within them, as a dataset: one record per file or box, in the given order.

use std::path::PathBuf;

use espalier_core::input::crop_box;

use crate::records::fault::{Broken, Cause, Fault};
use crate::records::record_image::RecordImage;
use crate::records::source::{Record, Records};
use crate::records::table::Table;

/// One image of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Path of the file.
    pub path: PathBuf,
    /// Left, top, right and bottom as fractions of width and height; `None` for the whole image.
    pub region: Option<[f32; 4]>,
}

impl From<PathBuf> for Item {
    fn from(path: PathBuf) -> Self {
        Self { path, region: None }
    }
}

/// Creates a dataset of these images; reports refer to it as `name`. The key of a record is its
/// index in the list.
pub fn table(name: String, items: Vec<Item>) -> Table {
    Table::new(name, items.len(), Rows(items))
}

struct Rows(Vec<Item>);

impl Records for Rows {
    fn read(&self, row: usize) -> Result<Record, Broken> {
        let item = &self.0[row];
        let broken = |fault: Fault| fault.of(item.path.display().to_string());
        let mut image = RecordImage::of_file(Some(&item.path)).map_err(broken)?;
        if let Some(region) = item.region {
            let whole = image.decode().map_err(broken)?;
            let part = crop_box(&whole, region).ok_or_else(|| {
                let detail = format!("the box {region:?} contains no pixel");
                broken(Fault::new(Cause::UnreadableImage, detail))
            })?;
            image = RecordImage::Decoded(part);
        }
        Ok(Record::labelled(row.to_string(), image, None, ""))
    }
}
