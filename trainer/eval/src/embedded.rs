//! Embedded images with their keys, captions and labels.

use std::collections::BTreeMap;
use std::rc::Rc;

use espalier_core::input::ResizeMode;
use espalier_data::records::coverage::Cases;
use espalier_data::records::fault::CauseCount;
use espalier_data::{BrokenCounts, Cause, Coverage};
use serde::{Deserialize, Serialize};

use super::Points;

/// Metadata of embedded images; one entry per image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageMetadata {
    /// Keys of the records.
    pub keys: Vec<String>,
    /// Captions.
    pub captions: Vec<String>,
    /// Further captions of each image.
    #[serde(default)]
    pub more_captions: Vec<Vec<String>>,
    /// Labels.
    pub labels: Vec<Option<String>>,
    /// Records that could not be read.
    pub counts: BrokenCounts,
}

impl ImageMetadata {
    /// Records that could not be read, by cause.
    pub fn broken(&self) -> BTreeMap<String, Cases> {
        let missing = |(cause, found): (&Cause, &CauseCount)| {
            let example = format!("{}: {}", found.example.key, found.example.detail);
            let count = found.count;
            (cause.description().to_owned(), Cases { count, example })
        };
        self.counts.by_cause.iter().map(missing).collect()
    }

    /// Returns the coverage of data with `expected` items, of which `found` are used.
    pub fn coverage(&self, expected: u64, found: usize) -> Coverage {
        Coverage {
            expected,
            found: found as u64,
            missing: self.broken(),
            ..Coverage::default()
        }
    }
}

/// Images with their points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// Points, row by row.
    pub points: Points,
    /// Metadata of the images.
    pub about: ImageMetadata,
}

/// Preprocessing options for images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Resize mode; `None` uses the model's own.
    pub resize: Option<ResizeMode>,
    /// Whether pixels are mapped to `[-1, 1]` before the model normalises them itself (notation
    /// trap 20).
    pub double_norm: bool,
}

impl From<Option<ResizeMode>> for View {
    fn from(resize: Option<ResizeMode>) -> Self {
        Self {
            resize,
            double_norm: false,
        }
    }
}

/// Points of a list of files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddedFiles {
    /// The images that could be read.
    pub found: Rc<Embedded>,
    /// The row of each file of the list; `None` where it could not be read.
    pub row_of: Vec<Option<usize>>,
}

impl EmbeddedFiles {
    /// Returns the points of the images that could be read.
    pub fn points(&self) -> &Points {
        &self.found.points
    }

    /// Returns the point of a file of the list, if it could be read.
    pub fn point(&self, file: usize) -> Option<&[f32]> {
        let row = self.row_of.get(file).copied().flatten()?;
        Some(self.found.points.row(row))
    }

    /// Subtracts unreadable files from a coverage that counted them as usable; each of them counts
    /// for `items(file)` items.
    pub fn subtract_unreadable(&self, coverage: &mut Coverage, items: impl Fn(usize) -> u64) {
        let unreadable = self.row_of.iter().zip(0..).filter(|(row, _)| row.is_none());
        let unreadable: u64 = unreadable.map(|(_, file)| items(file)).sum();
        let broken = self.found.about.broken();
        let example = broken.values().next().map_or("", |m| m.example.as_str());
        coverage.lose("image cannot be read", unreadable, example);
    }
}
