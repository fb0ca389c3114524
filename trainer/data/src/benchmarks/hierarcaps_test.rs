//! HierarCaps' test set: a CSV of captions from general to specific, and their images (notation
//! 5.4).

use std::path::{Path, PathBuf};

use espalier_core::statements::Vocabulary;

use crate::formats::captioned::Captioned;
use crate::formats::hierarcaps::csv_reader;
use crate::formats::image_index::{ImageFiles, ImageIndex, last_number};
use crate::records::caption_chains;
use crate::records::coverage::Coverage;
use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "hierarcaps_test.csv with the columns captions (texts joined by =>) and \
    image_url, its images (COCO val2014) in --images DIR or below the same folder, found by the \
    number at the end of their names";

/// Chains of texts with their images.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HierarcapsTest {
    /// Texts of each row, general to specific, all of one length.
    pub chains: Vec<Vec<String>>,
    /// Image of each row, an index into [`HierarcapsTest::images`]; `None` if the image is
    /// missing.
    pub image_of: Vec<Option<usize>>,
    /// Available image files, without duplicates.
    pub images: Vec<PathBuf>,
    /// Counts of available and missing items; items are rows with their images.
    pub coverage: Coverage,
    /// The same counts for the texts alone.
    pub rows: Coverage,
}

/// Returns the CSV that a path refers to: the path itself, or the one in it.
fn csv_file(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let names = ["hierarcaps_test.csv", "hierarcaps_test.csv.gz"];
    names
        .iter()
        .map(|name| path.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| DataError::layout(path, EXPECTED, "no hierarcaps_test.csv"))
}

impl HierarcapsTest {
    /// Returns whether a path is such a CSV (by its columns), or a folder with one.
    pub fn matches(path: &Path) -> bool {
        let file = csv_file(path).ok();
        let reader = file.and_then(|file| csv_reader(&file).ok());
        let Some(mut reader) = reader else {
            return false;
        };
        reader.headers().is_ok_and(|header| {
            let has = |column: &str| header.iter().any(|name| name.trim() == column);
            ["captions", "image_url"].into_iter().all(has)
        })
    }

    /// Reads the rows and locates their images.
    ///
    /// # Errors
    /// If the file cannot be read or lacks a column, or there is no valid row.
    pub fn open(path: &Path, images: Option<&Path>) -> Result<Self> {
        let file = csv_file(path)?;
        let csv_folder = folder_of(&file);
        let root = images.unwrap_or(if path.is_dir() { path } else { &csv_folder });
        let images = ImageIndex::of(root)?;
        let mut rows = csv_reader(&file).map_err(DataError::io(&file))?;
        let unreadable = |e: csv::Error| DataError::layout(&file, EXPECTED, e.to_string());
        let header = rows.headers().map_err(unreadable)?.clone();
        let position = |column: &str| header.iter().position(|c| c.trim() == column);
        let (Some(captions), Some(url)) = (position("captions"), position("image_url")) else {
            let columns = header.iter().collect::<Vec<_>>().join(", ");
            let found = format!("the columns {columns}");
            return Err(DataError::layout(&file, EXPECTED, found));
        };
        let mut data = Self::default();
        let mut used = ImageFiles::default();
        for (row, record) in (1_u64..).zip(rows.records()) {
            let name = format!("row {row}");
            match record {
                Ok(record) => {
                    let texts = record.get(captions).unwrap_or_default();
                    let url = record.get(url).unwrap_or_default();
                    data.add_row(&name, texts, url, &images, &mut used);
                }
                Err(e) if e.is_io_error() => {
                    data.miss("file ends early", &name);
                    break;
                }
                Err(_) => data.miss("row cannot be read", &name),
            }
        }
        if data.chains.is_empty() {
            return Err(DataError::layout(&file, EXPECTED, "no valid row"));
        }
        data.images = used.paths;
        Ok(data)
    }

    /// Makes a chain by rule for each image: of its first caption that mentions enough for three statements.
    pub fn of_captions(images: Captioned, vocabulary: &Vocabulary) -> Self {
        let mut data = Self::default();
        for (name, file, captions) in images.into_images() {
            let mut chains = captions.iter();
            let chain = chains.find_map(|caption| caption_chains::positives(vocabulary, caption));
            let Some(chain) = chain else {
                data.miss("no caption with three statements", &name);
                continue;
            };
            let image = file.map(|path| {
                data.images.push(path);
                data.images.len() - 1
            });
            data.add(chain, image, &name);
        }
        data
    }

    /// Counts an unusable row, with or without its image.
    fn miss(&mut self, cause: &str, name: &str) {
        self.coverage.miss(cause, name);
        self.rows.miss(cause, name);
    }

    fn add_row(
        &mut self,
        name: &str,
        texts: &str,
        url: &str,
        images: &ImageIndex,
        used: &mut ImageFiles,
    ) {
        let chain: Vec<String> = texts.split("=>").map(|t| t.trim().to_owned()).collect();
        let tiers = self.chains.first().map_or(chain.len(), Vec::len);
        if chain.len() < 2 || chain.len() != tiers || chain.iter().any(String::is_empty) {
            self.miss("not as many texts as the first row", name);
            return;
        }
        if chain.windows(2).any(|pair| pair[0] == pair[1]) {
            let odd = "one text in two neighbouring tiers";
            self.coverage.note(odd, 1, name);
        }
        // The last run of digits in the last segment of the URL.
        let file = url.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let image = last_number(stem).and_then(|n| images.with_number(n));
        self.add(chain, image.map(|path| used.number(path)), url);
    }

    /// Adds a chain with the number of its image; `name` is that of an image which is missing.
    fn add(&mut self, chain: Vec<String>, image: Option<usize>, name: &str) {
        self.rows.usable(1);
        match image {
            Some(_) => self.coverage.usable(1),
            None => self.coverage.miss("image not there", name),
        }
        self.image_of.push(image);
        self.chains.push(chain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_matched_with_images_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let csv = "id,captions,image_url\n\
            0,\"animal => dog => a dog => a dog, asleep\",http://x/COCO_val2014_000000000042.jpg\n\
            1,a => b => c => d,http://x/COCO_val2014_000000000043.jpg\n\
            2,a => b => c,http://x/COCO_val2014_000000000042.jpg\n\
            3,a=>b=>c=>c,http://x/COCO_val2014_000000000042.jpg?size=9\n";
        std::fs::write(dir.path().join("hierarcaps_test.csv"), csv).unwrap();
        std::fs::write(dir.path().join("val_000042.jpg"), "x").unwrap();
        assert!(HierarcapsTest::matches(dir.path()));
        let data = HierarcapsTest::open(dir.path(), None).unwrap();
        assert_eq!(data.chains.len(), 3);
        assert_eq!(data.chains[0][3], "a dog, asleep");
        assert_eq!(data.image_of, [Some(0), None, Some(0)]);
        assert_eq!(data.images.len(), 1);
        let causes = data.coverage.missing.keys();
        assert!(causes.eq(["image not there", "not as many texts as the first row"]));
        assert_eq!(data.coverage.odd.len(), 1);
        assert_eq!((data.coverage.expected, data.coverage.found), (4, 2));
    }

    #[test]
    fn captions_that_say_enough_give_chains() {
        let vocabulary = Vocabulary::everyday().unwrap();
        let images = Captioned {
            names: vec!["a.jpg".into(), "b.jpg".into(), "c.jpg".into()],
            files: vec![Some("a.jpg".into()), Some("b.jpg".into()), None],
            captions: vec![
                "something blue".into(),
                "A dog running on the beach".into(),
                "something red".into(),
                "Two men eating in a kitchen".into(),
            ],
            image_of: vec![0, 0, 1, 2],
            ..Captioned::default()
        };
        let data = HierarcapsTest::of_captions(images, &vocabulary);
        assert_eq!(data.chains[0][3], "A dog running on the beach");
        assert_eq!(data.image_of, [Some(0), None]);
        assert_eq!(data.images, [PathBuf::from("a.jpg")]);
        let causes = data.coverage.missing.keys();
        assert!(causes.eq(["image not there", "no caption with three statements"]));
    }

    #[test]
    fn the_training_file_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hierarcaps_train.csv");
        std::fs::write(&path, "positive,negative\na=>b,c=>d\n").unwrap();
        assert!(!HierarcapsTest::matches(&path));
        let error = HierarcapsTest::open(&path, None).unwrap_err().to_string();
        let expected = "found the columns positive, negative";
        assert!(error.contains(expected), "{error}");
        let none = HierarcapsTest::open(&dir.path().join("x"), None).unwrap_err();
        assert_eq!(none.exit_code(), 2);
    }
}
