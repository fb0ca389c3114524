//! The formats that every command recognises, and the choice among them.
//!
//! Formats of texts alone (HierarCaps' chains, a taxonomy) and the generated set are not detected:
//! `--dataset` names them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::Format;
use super::grit::Grit;
use super::{arrays, class_tars, coco_boxes, folders, grit, inat, metadata_csv, open_images};
use crate::records::error::{DataError, Result};
use crate::records::source::Dataset;

/// All formats. The first that [detects](Format::detect) the paths reads them; the last takes any
/// paths and reports what it misses.
pub const FORMATS: [&Format; 8] = [
    &arrays::FORMAT,
    &coco_boxes::FORMAT,
    &inat::FORMAT,
    &metadata_csv::FORMAT,
    &open_images::FORMAT,
    &folders::FORMAT,
    &class_tars::FORMAT,
    &grit::FORMAT,
];

/// What a command needs of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Images with labels.
    Labels,
    /// Images with boxes.
    Boxes,
    /// Images with any text; a label is one.
    Captions,
}

impl Need {
    const fn is_met_by(self, format: &Format) -> bool {
        match self {
            Self::Labels | Self::Captions => format.labels,
            Self::Boxes => format.boxes,
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Labels => "images with labels",
            Self::Boxes => "images with boxes",
            Self::Captions => "images with captions",
        }
    }
}

/// Opens paths in the first format that detects them and meets the need.
///
/// # Errors
/// [`DataError`] that names the file and the problem, or that the detected format lacks what is
/// needed.
pub fn open(paths: &[PathBuf], need: Need) -> Result<Arc<dyn Dataset>> {
    let detected = FORMATS.iter().filter(|format| (format.detect)(paths));
    let detected: Vec<&Format> = detected.copied().collect();
    let fitting = detected.iter().find(|format| need.is_met_by(format));
    match (detected.as_slice(), fitting) {
        // Only shards were detected, which take any paths.
        ([_], _) if need == Need::Captions => Ok(Arc::new(Grit::with_captions(paths)?)),
        ([shards], _) => (shards.open)(paths),
        (_, Some(format)) if format.name != grit::FORMAT.name => (format.open)(paths),
        (found, _) => {
            let formats = FORMATS.iter().filter(|format| need.is_met_by(format));
            let names: Vec<&str> = formats.map(|format| format.name).collect();
            Err(DataError::layout(
                paths.first().map_or(Path::new(""), PathBuf::as_path),
                format!("{} ({})", need.description(), names.join(", ")),
                found.first().map_or("none of them", |format| format.name),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::folder_with;

    #[test]
    fn only_the_last_format_takes_any_paths() {
        let nowhere = [PathBuf::from("there is no such path")];
        let mut detected = FORMATS.iter().filter(|format| (format.detect)(&nowhere));
        assert_eq!(detected.next().unwrap().name, grit::FORMAT.name);
        assert!(detected.next().is_none());
    }

    #[test]
    fn a_format_without_what_is_needed_is_named() {
        let root = folder_with(&["cat/a.png"]);
        let paths = [root.path().to_owned()];
        assert_eq!(open(&paths, Need::Labels).unwrap().units()[0].records, 1);
        let opened = open(&paths, Need::Boxes).map(|_| ());
        let error = opened.unwrap_err().to_string();
        let expected = "expected images with boxes (COCO boxes";
        assert!(error.contains(expected), "{error}");
        assert!(error.ends_with("found class folders"), "{error}");
    }
}
