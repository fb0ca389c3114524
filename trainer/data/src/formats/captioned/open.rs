//! Finds out in which form captions are, and reads them.

use std::path::Path;

use super::files::{Form, dataset_name, find};
use super::images::{Captioned, EXPECTED, ImageFolders, Splits};
use super::{beside, json, table};
use crate::formats::image_index::{ImageIndex, folder_of_images};
use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;

impl Captioned {
    /// Returns whether a path is such a file, or a folder with one.
    pub fn matches(path: &Path) -> bool {
        matches!(find(path, Splits::VALIDATION), Ok(Some(_)))
    }

    /// Reads the index and locates its images. The images of a file with splits are those of `splits`; files
    /// without splits are read as a whole.
    ///
    /// # Errors
    /// If the file cannot be read, has an unexpected layout, or lists no image with a caption.
    pub fn open(path: &Path, images: Option<&Path>, splits: Splits<'_>) -> Result<Self> {
        let found = match path.exists() {
            true => "none of them",
            false => "no such file or folder",
        };
        let data = Self::open_if_any(path, images, splits)?;
        data.ok_or_else(|| DataError::layout(path, EXPECTED, found))
    }

    /// Opens a path as [`open`](Self::open) does; `None` if it is no such file and no folder with one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_if_any(
        path: &Path,
        images: Option<&Path>,
        splits: Splits<'_>,
    ) -> Result<Option<Self>> {
        let Some((form, file)) = find(path, splits)? else {
            return Ok(None);
        };
        let mut data = Self {
            dataset: dataset_name(&file),
            ..Self::default()
        };
        if let Form::Beside = form {
            beside::read(&file, &mut data)?;
        } else {
            let searched = images.map_or_else(|| folder_of_images(path, &file), Path::to_path_buf);
            let folders = ImageFolders {
                base: images.map_or_else(|| folder_of(&file), Path::to_path_buf),
                images: ImageIndex::of(&searched)?,
            };
            match form {
                Form::Json => json::read(&file, splits, &folders, &mut data)?,
                _ => table::read(&file, &folders, &mut data)?,
            }
            data.leave_out_unused(&folders, &file)?;
        }
        if data.captions.is_empty() {
            let found = format!("{} images and no caption", data.names.len());
            return Err(DataError::layout(&file, EXPECTED, found));
        }
        Ok(Some(data))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::test_files::folder;

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
            let data = Captioned::open(&path, None, Splits(&["test"])).unwrap();
            assert_eq!(data.dataset, Some("coco"));
            assert_eq!(data.names, ["c.jpg", "a.jpg", "gone.jpg"]);
            assert_eq!(data.captions, ["c one", "a one", "a two"]);
            assert_eq!(data.image_of, [0, 1, 1]);
            assert!(data.files[0].is_some() && data.files[2].is_none());
            assert_eq!((data.coverage.expected, data.coverage.found), (3, 2));
            assert_eq!(data.coverage.missing["image not there"].example, "gone.jpg");
            let odd: Vec<&str> = data.coverage.odd.keys().map(String::as_str).collect();
            assert_eq!(
                odd,
                [
                    "blank caption left out",
                    "caption without an image",
                    "image id given twice",
                    "image without a caption"
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
        let data = Captioned::open(dir.path(), None, Splits(&["test"])).unwrap();
        assert_eq!(data.dataset, Some("flickr30k"));
        assert_eq!((data.captions.len(), data.names.len()), (2, 1));
        assert!(data.coverage.is_complete());
        let none = Captioned::open(dir.path(), None, Splits(&["restval"])).unwrap_err();
        assert!(
            none.to_string()
                .contains("no image of split `restval`; its splits are test, train"),
            "{none}"
        );
        assert_eq!(none.exit_code(), 2);
    }

    #[test]
    fn other_files_are_rejected() {
        let dir = folder(&[("a.json", "[1, 2]"), ("captions_x.json", "{\"images\": 3}")]);
        let error = |name: &str, images: Option<&Path>| {
            let opened = Captioned::open(&dir.path().join(name), images, Splits(&["test"]));
            opened.unwrap_err()
        };
        for (name, message) in [
            ("a.json", "COCO captions JSON"),
            ("captions_x.json", "COCO captions JSON"),
            ("none.json", "no such file or folder"),
        ] {
            assert!(error(name, None).to_string().contains(message), "{name}");
        }
        let images = dir.path().join("none");
        assert_eq!(error("captions_x.json", Some(&images)).exit_code(), 2);
    }

    /// Returns the name of each image and its captions: `NAME: CAPTION | CAPTION`.
    fn images(path: &Path) -> Vec<String> {
        let data = Captioned::open(path, None, Splits::TRAINING).unwrap();
        let image = |(name, file, captions): (String, Option<PathBuf>, Vec<String>)| {
            assert!(file.is_some(), "{name}");
            format!("{name}: {}", captions.join(" | "))
        };
        data.into_images().map(image).collect()
    }

    #[test]
    fn training_takes_the_rest_of_the_validation_images_too() {
        let json = r#"{"images": [
            {"filename": "1.jpg", "filepath": "val2014", "split": "restval", "sentences": [{"raw": "x"}]},
            {"filename": "2.jpg", "split": "train", "sentences": [{"raw": "y"}]},
            {"filename": "3.jpg", "split": "val", "sentences": [{"raw": "z"}]}]}"#;
        let dir = folder(&[
            ("dataset_coco.json", json),
            ("train2014/1.jpg", "x"),
            ("val2014/1.jpg", "x"),
            ("2.jpg", "x"),
            ("3.jpg", "x"),
        ]);
        let data = Captioned::open(dir.path(), None, Splits::TRAINING).unwrap();
        assert_eq!(data.names, ["val2014/1.jpg", "2.jpg"]);
        assert!(data.files[0].as_ref().unwrap().ends_with("val2014/1.jpg"));
        let val = Captioned::open(dir.path(), None, Splits::VALIDATION).unwrap();
        assert_eq!(val.captions, ["z"]);
    }

    #[test]
    fn an_image_is_found_at_its_path_from_the_index() {
        let json = r#"{"images": [{"filename": "1.jpg", "filepath": "../photos", "sentences": [{"raw": "x"}]}]}"#;
        let dir = folder(&[("texts/captions.json", json), ("photos/1.jpg", "x")]);
        let data = Captioned::open(&dir.path().join("texts"), None, Splits::ALL).unwrap();
        assert!(data.files[0].is_some() && data.coverage.is_complete());
    }

    #[test]
    fn tables_of_captions_are_read_as_they_are_published() {
        let two = ["1.jpg: a dog, running | two", "2.jpg: a \"cat\""];
        for (name, table) in [
            // Flickr8k, as it is found today.
            (
                "captions.txt",
                "image,caption\n1.jpg,\"a dog, running\"\n2.jpg,\"a \"\"cat\"\"\"\n1.jpg,two\n",
            ),
            // Without quotes.
            (
                "captions.csv",
                "\u{feff}image,caption\r\n1.jpg,a dog, running\r\n1.jpg,two\r\n2.jpg,\"a \"\"cat\"\"\"\r\n",
            ),
            // Flickr30k.
            (
                "results.csv",
                "image_name| comment_number| comment\n1.jpg| 0| a dog, running\n1.jpg| 1| two\n2.jpg| 0| a \"cat\"\n",
            ),
            // Flickr8k and Flickr30k, as they were first published.
            (
                "Flickr8k.token.txt",
                "1.jpg#0\ta dog, running\n1.jpg#1\ttwo\n2.jpg#0\ta \"cat\"\n",
            ),
            // Tables of open_clip.
            (
                "captions.tsv",
                "filepath\ttitle\n1.jpg\ta dog, running\n1.jpg\ttwo\n2.jpg\ta \"cat\"\n",
            ),
            (
                "metadata.jsonl",
                "{\"file_name\": \"1.jpg\", \"text\": [\"a dog, running\", \"two\"]}\n\n{\"file_name\": \"2.jpg\", \"text\": \"a \\\"cat\\\"\"}\n",
            ),
        ] {
            let dir = folder(&[(name, table), ("images/1.jpg", "x"), ("images/2.jpg", "x")]);
            for path in [dir.path().to_owned(), dir.path().join(name)] {
                assert!(Captioned::matches(&path), "{name}");
                assert_eq!(images(&path), two, "{name}");
            }
        }
    }

    #[test]
    fn text_files_beside_photos_hold_a_caption_a_line() {
        let dir = folder(&[
            ("b/2.jpg", "x"),
            ("b/2.txt", "one\n\n two \n"),
            ("a/1.png", "x"),
            ("a/1.caption", "three"),
        ]);
        let found = ["a/1.png: three", "b/2.jpg: one |  two "];
        assert_eq!(images(dir.path()), found);
        std::fs::write(dir.path().join("a/3.png"), "x").unwrap();
        let data = Captioned::open(dir.path(), None, Splits::TRAINING).unwrap();
        assert_eq!(
            data.coverage.odd["image without a caption"].example,
            "a/3.png"
        );
    }

    #[test]
    fn photos_without_captions_are_no_captioned_images() {
        let dir = folder(&[
            ("cat/1.jpg", "x"),
            ("photos.csv", "filepath,class\ncat/1.jpg,cat\n"),
        ]);
        assert!(!Captioned::matches(dir.path()));
        assert!(!Captioned::matches(&dir.path().join("photos.csv")));
    }
}
