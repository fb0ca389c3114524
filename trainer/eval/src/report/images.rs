//! Thumbnails of the images of records, for a page.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use espalier_core::input::{Preprocess, ResizeMode};
use espalier_data::Dataset;

/// Side of a thumbnail in pixels.
const SIDE: u32 = 72;

/// Thumbnails (JPEG in base64) of the records with these keys; unreadable ones are skipped.
pub fn thumbnails(data: &dyn Dataset, keys: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, unit) in data.units().iter().enumerate() {
        if found.len() == keys.len() {
            break;
        }
        let Ok(records) = data.load(at) else { continue };
        let rows = (0..unit.records as usize).filter_map(|row| records.read(row).ok());
        for record in rows.filter(|record| keys.contains(&record.key)) {
            if let Some(bytes) = record.image.decode().ok().and_then(|p| jpeg(&p)) {
                found.insert(record.key, STANDARD.encode(bytes));
            }
        }
    }
    found
}

fn jpeg(image: &image::RgbImage) -> Option<Vec<u8>> {
    let preprocess = Preprocess::new(SIDE, ResizeMode::CentreCrop);
    let small = preprocess.apply(image).ok()?;
    let mut bytes = Cursor::new(Vec::new());
    small.write_to(&mut bytes, image::ImageFormat::Jpeg).ok()?;
    Some(bytes.into_inner())
}
