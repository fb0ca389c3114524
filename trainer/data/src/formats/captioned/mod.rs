//! Images with several captions each: COCO's caption JSON and Karpathy's split files (notation
//! 5.7).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use crate::benchmarks::captioned_files::EXPECTED;
use espalier_io::disk::read;

use crate::benchmarks::captioned_files::{dataset_name, image_folders, json_file};
use crate::formats::picture_index::PictureIndex;
use crate::records::coverage::Coverage;
use crate::records::error::{DataError, Result};

/// A benchmark of images and captions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Captioned {
    /// Name of the benchmark, if it can be derived from the file name.
    pub dataset: Option<&'static str>,
    /// Image names as given in the index.
    pub names: Vec<String>,
    /// Image files; `None` where the file is missing.
    pub files: Vec<Option<PathBuf>>,
    /// Captions.
    pub captions: Vec<String>,
    /// Index of the image of each caption.
    pub picture_of: Vec<u32>,
    /// Counts of available and missing items; items are images.
    pub coverage: Coverage,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    images: Vec<Image>,
    annotations: Option<Vec<Annotation>>,
}

#[derive(Deserialize)]
struct Image {
    id: Option<serde_json::Value>,
    #[serde(alias = "filename")]
    file_name: String,
    split: Option<String>,
    sentences: Option<Vec<Sentence>>,
}

#[derive(Deserialize)]
struct Sentence {
    raw: String,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: serde_json::Value,
    caption: String,
}

impl Captioned {
    /// Returns whether a path is such a file, or a folder with one.
    #[must_use]
    pub fn matches(path: &Path) -> bool {
        json_file(path).is_ok_and(|file| file.extension().is_some_and(|e| e == "json"))
    }

    /// Reads the index and locates its images; `split` selects a split of a Karpathy file.
    ///
    /// # Errors
    /// If the file cannot be read, has an unexpected layout, or lists no image with a caption.
    pub fn open(path: &Path, images: Option<&Path>, split: &str) -> Result<Self> {
        let file = json_file(path)?;
        let bytes = read::bytes(&file).map_err(DataError::io(&file))?;
        let index: Index = serde_json::from_slice(&bytes)
            .map_err(|e| DataError::layout(&file, EXPECTED, e.to_string()))?;
        let folders = image_folders(path, &file, images);
        if let Some(folder) = folders.iter().find(|folder| !folder.is_dir()) {
            return Err(DataError::NoSuchPath {
                path: folder.clone(),
            });
        }
        let pictures = PictureIndex::of(&folders)?;
        let mut data = Self {
            dataset: dataset_name(&file),
            ..Self::default()
        };
        match index.annotations {
            Some(annotations) => data.add_coco(index.images, annotations, &pictures),
            None => data.add_karpathy(index.images, split, &pictures),
        }
        if data.captions.is_empty() {
            let found = format!("no image of split `{split}` with a caption");
            return Err(DataError::layout(&file, EXPECTED, found));
        }
        Ok(data)
    }

    /// Records an image and whether its file exists; returns its index.
    fn add_image(&mut self, name: String, pictures: &PictureIndex) -> u32 {
        let file = pictures.find(&name).map(Path::to_path_buf);
        match file {
            Some(_) => self.coverage.usable(1),
            None => self.coverage.miss("picture not there", &name),
        }
        self.names.push(name);
        self.files.push(file);
        self.names.len() as u32 - 1
    }

    fn add_caption(&mut self, picture: u32, text: String) {
        if text.trim().is_empty() {
            let name = self.names[picture as usize].clone();
            self.coverage.note("blank caption left out", 1, &name);
            return;
        }
        self.captions.push(text);
        self.picture_of.push(picture);
    }

    fn add_coco(&mut self, images: Vec<Image>, annotations: Vec<Annotation>, found: &PictureIndex) {
        let mut index_of_id: HashMap<String, u32> = HashMap::new();
        let mut captions: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for image in images {
            let id = image
                .id
                .map_or_else(|| image.file_name.clone(), |id| id.to_string());
            if index_of_id.contains_key(&id) {
                self.coverage.note("picture id given twice", 1, &id);
                continue;
            }
            let picture = self.add_image(image.file_name, found);
            index_of_id.insert(id, picture);
        }
        for Annotation { image_id, caption } in annotations {
            match index_of_id.get(&image_id.to_string()) {
                Some(picture) => captions.entry(*picture).or_default().push(caption),
                None => self.coverage.note("caption without a picture", 1, &caption),
            }
        }
        for picture in 0..self.names.len() as u32 {
            let texts = captions.remove(&picture).unwrap_or_default();
            if texts.is_empty() {
                let name = self.names[picture as usize].clone();
                self.coverage.note("picture without a caption", 1, &name);
            }
            for text in texts {
                self.add_caption(picture, text);
            }
        }
    }

    fn add_karpathy(&mut self, images: Vec<Image>, split: &str, found: &PictureIndex) {
        let mut seen: HashMap<String, ()> = HashMap::new();
        for image in images {
            if image.split.as_deref().is_some_and(|s| s != split) {
                continue;
            }
            if seen.insert(image.file_name.clone(), ()).is_some() {
                self.coverage
                    .note("picture named twice", 1, &image.file_name);
            }
            let picture = self.add_image(image.file_name, found);
            let sentences = image.sentences.unwrap_or_default();
            if sentences.is_empty() {
                let name = self.names[picture as usize].clone();
                self.coverage.note("picture without a caption", 1, &name);
            }
            for Sentence { raw } in sentences {
                self.add_caption(picture, raw);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    #[test]
    fn coco_is_read_and_irregular_items_are_counted() {
        let json = r#"{"images": [{"id": 3, "file_name": "c.jpg"}, {"id": 1, "file_name": "a.jpg"},
            {"id": 3, "file_name": "again.jpg"}, {"id": 4, "file_name": "gone.jpg"}],
            "annotations": [{"id": 9, "image_id": 1, "caption": "a one"},
            {"id": 8, "image_id": 3, "caption": "c one"}, {"id": 7, "image_id": 1, "caption": "a two"},
            {"id": 6, "image_id": 77, "caption": "lost"}, {"id": 5, "image_id": 1, "caption": " "}]}"#;
        let dir = folder(&[
            ("annotations/captions_val2017.json", json),
            ("val2017/a.jpg", "x"),
            ("val2017/c.jpg", "x"),
        ]);
        for path in [
            dir.path().to_owned(),
            dir.path().join("annotations/captions_val2017.json"),
        ] {
            let data = Captioned::open(&path, None, "test").unwrap();
            assert_eq!(data.dataset, Some("coco"));
            assert_eq!(data.names, ["c.jpg", "a.jpg", "gone.jpg"]);
            assert_eq!(data.captions, ["c one", "a one", "a two"]);
            assert_eq!(data.picture_of, [0, 1, 1]);
            assert!(data.files[0].is_some() && data.files[2].is_none());
            assert_eq!((data.coverage.expected, data.coverage.found), (3, 2));
            assert_eq!(
                data.coverage.missing["picture not there"].example,
                "gone.jpg"
            );
            let odd: Vec<&str> = data.coverage.odd.keys().map(String::as_str).collect();
            assert_eq!(
                odd,
                [
                    "blank caption left out",
                    "caption without a picture",
                    "picture id given twice",
                    "picture without a caption"
                ]
            );
        }
    }

    #[test]
    fn one_split_of_a_karpathy_file_is_read() {
        let json = r#"{"images": [
            {"filename": "1.jpg", "split": "train", "sentids": [0], "sentences": [{"raw": "x", "sentid": 0}]},
            {"filename": "2.jpg", "split": "test", "sentids": [1, 2],
             "sentences": [{"raw": "y", "sentid": 1}, {"raw": "z", "sentid": 2}]}], "dataset": "flickr30k"}"#;
        let dir = folder(&[("dataset_flickr30k.json", json), ("images/2.jpg", "x")]);
        let data = Captioned::open(dir.path(), None, "test").unwrap();
        assert_eq!(data.dataset, Some("flickr30k"));
        assert_eq!((data.captions.len(), data.names.len()), (2, 1));
        assert!(data.coverage.is_complete());
        let none = Captioned::open(dir.path(), None, "restval").unwrap_err();
        assert!(
            none.to_string().contains("no image of split `restval`"),
            "{none}"
        );
        assert_eq!(none.exit_code(), 2);
    }

    #[test]
    fn other_files_are_rejected() {
        let dir = folder(&[("a.json", "[1, 2]"), ("captions_x.json", "{\"images\": 3}")]);
        let error = |name: &str| Captioned::open(&dir.path().join(name), None, "test").unwrap_err();
        assert!(error("a.json").to_string().contains("COCO captions JSON"));
        assert!(
            error("captions_x.json")
                .to_string()
                .contains("COCO captions JSON")
        );
        assert!(
            error("none.json")
                .to_string()
                .contains("no such file or folder")
        );
        let pictures = dir.path().join("none");
        let error = Captioned::open(&dir.path().join("captions_x.json"), Some(&pictures), "test");
        assert_eq!(error.unwrap_err().exit_code(), 2);
    }
}
