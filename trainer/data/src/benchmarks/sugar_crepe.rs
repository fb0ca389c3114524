//! SugarCrepe: an image, its caption and a wrong caption (notation 5.7).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::formats::image_index::{ImageFiles, ImageIndex};
use crate::records::coverage::Coverage;
use crate::records::error::{DataError, Result};

/// Names of the seven files.
pub const KINDS: [&str; 7] = [
    "add_att",
    "add_obj",
    "replace_att",
    "replace_obj",
    "replace_rel",
    "swap_att",
    "swap_obj",
];

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "a folder with SugarCrepe's add_att.json, add_obj.json, replace_att.json, \
    replace_obj.json, replace_rel.json, swap_att.json and swap_obj.json, its images (COCO \
    val2017) in --images DIR or below the same folder";

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Index of the image in [`SugarCrepe::images`].
    pub image: usize,
    /// The caption that matches.
    pub caption: String,
    /// The caption that does not match.
    pub negative: String,
}

/// The questions by kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SugarCrepe {
    /// Questions of each kind whose file exists.
    pub kinds: BTreeMap<String, Vec<Question>>,
    /// Image files, without duplicates.
    pub images: Vec<PathBuf>,
    /// Counts of available and missing items; items are questions.
    pub coverage: Coverage,
}

#[derive(Deserialize)]
struct Entry {
    filename: String,
    caption: String,
    negative_caption: String,
}

impl SugarCrepe {
    /// Reads the benchmark files that exist in a folder.
    ///
    /// # Errors
    /// If none exists or one has an unexpected layout.
    pub fn open(folder: &Path, images: Option<&Path>) -> Result<Self> {
        if !folder.is_dir() {
            return Err(DataError::layout(folder, EXPECTED, "no such folder"));
        }
        let images = ImageIndex::of(images.unwrap_or(folder))?;
        let mut data = Self::default();
        let mut used = ImageFiles::default();
        for kind in KINDS {
            // The published repository keeps them in a subfolder.
            let candidates = [format!("{kind}.json"), format!("data/{kind}.json")];
            let mut files = candidates.iter().map(|name| folder.join(name));
            let Some(file) = files.find(|file| file.is_file()) else {
                data.coverage.note("file not there", 1, &candidates[0]);
                continue;
            };
            let entries: BTreeMap<String, Entry> = DataError::read_json(&file, EXPECTED)?;
            for entry in entries.into_values() {
                let Some(path) = images.find(&entry.filename) else {
                    data.coverage.miss("image not there", &entry.filename);
                    continue;
                };
                data.coverage.usable(1);
                let questions = data.kinds.entry(kind.to_owned()).or_default();
                questions.push(Question {
                    image: used.number(path),
                    caption: entry.caption,
                    negative: entry.negative_caption,
                });
            }
        }
        data.images = used.paths;
        if data.kinds.is_empty() {
            let missing = data.coverage.missing.values().map(|m| m.count).sum::<u64>();
            let found = format!("no question with its image ({missing} questions without)");
            return Err(DataError::layout(folder, EXPECTED, found));
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_without_their_image_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let json = r#"{"0": {"filename": "1.jpg", "caption": "a", "negative_caption": "b"},
            "1": {"filename": "2.jpg", "caption": "c", "negative_caption": "d"}}"#;
        std::fs::write(dir.path().join("swap_obj.json"), json).unwrap();
        std::fs::write(dir.path().join("1.jpg"), "x").unwrap();
        let data = SugarCrepe::open(dir.path(), None).unwrap();
        assert_eq!(data.kinds["swap_obj"].len(), 1);
        assert_eq!((data.coverage.expected, data.coverage.found), (2, 1));
        assert_eq!(data.coverage.odd["file not there"].count, 6);
        std::fs::write(dir.path().join("add_obj.json"), "[]").unwrap();
        let error = |path: &Path| SugarCrepe::open(path, None).unwrap_err().to_string();
        assert!(error(dir.path()).contains("add_obj"));
        assert!(error(&dir.path().join("x")).contains("no such folder"));
    }
}
