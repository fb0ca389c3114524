//! SugarCrepe: an image, its caption and a wrong caption (notation 5.7).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::formats::image_index::ImageIndex;
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
        let root = images.unwrap_or(folder);
        if !root.is_dir() {
            return Err(DataError::NoSuchPath { path: root.into() });
        }
        let images = ImageIndex::of(&[root.to_owned()])?;
        let mut data = Self::default();
        let mut image_index: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for kind in KINDS {
            // The published repository keeps them in a subfolder.
            let candidates = [format!("{kind}.json"), format!("data/{kind}.json")];
            let Some(file) = candidates
                .iter()
                .map(|f| folder.join(f))
                .find(|f| f.is_file())
            else {
                data.coverage
                    .note("file not there", 1, &format!("{kind}.json"));
                continue;
            };
            let entries: BTreeMap<String, Entry> = DataError::read_json(&file, EXPECTED)?;
            for entry in entries.into_values() {
                let Some(path) = images.find(&entry.filename) else {
                    data.coverage.miss("image not there", &entry.filename);
                    continue;
                };
                data.coverage.usable(1);
                let image = *image_index.entry(path.to_owned()).or_insert_with(|| {
                    data.images.push(path.to_owned());
                    data.images.len() - 1
                });
                data.kinds
                    .entry(kind.to_owned())
                    .or_default()
                    .push(Question {
                        image,
                        caption: entry.caption,
                        negative: entry.negative_caption,
                    });
            }
        }
        if data.kinds.is_empty() {
            let missing = data.coverage.missing.values().map(|m| m.count).sum::<u64>();
            let found = format!("no question with its image ({missing} questions without)");
            return Err(DataError::layout(folder, EXPECTED, found));
        }
        Ok(data)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
        assert!(
            SugarCrepe::open(dir.path(), None)
                .unwrap_err()
                .to_string()
                .contains("add_obj")
        );
        let none = SugarCrepe::open(&dir.path().join("x"), None).unwrap_err();
        assert!(none.to_string().contains("no such folder"));
    }
}
