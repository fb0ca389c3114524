//! Every file beside the photos that a reader uses is a record or is counted by the rule that leaves it out.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_tests::photos::{jpeg, keep, landscape};
use espalier_trainer::data::formats::captioned::Splits;
use espalier_trainer::data::formats::registry::{self, Need};
use espalier_trainer::data::formats::{captions, open_images};
use espalier_trainer::data::{Cause, DataError, Dataset};
use proptest::prelude::*;
use serde_json::json;
use xtask::files::below;

use crate::data::support::read_all;

/// A file of a folder of photos, or a row of its index without a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Photo,
    WithoutExtension,
    Damaged,
    NotInTheIndex,
    Hidden,
    Note,
    OnlyInTheIndex,
}

impl Entry {
    const ALL: [Self; 7] = [
        Self::Photo,
        Self::WithoutExtension,
        Self::Damaged,
        Self::NotInTheIndex,
        Self::Hidden,
        Self::Note,
        Self::OnlyInTheIndex,
    ];

    fn name(self, at: usize) -> String {
        match self {
            Self::WithoutExtension => format!("{at:02}"),
            Self::Hidden => format!("._{at:02}.jpg"),
            Self::Note => format!("{at:02}.md"),
            _ => format!("{at:02}.jpg"),
        }
    }

    fn is_in_the_index(self) -> bool {
        !matches!(self, Self::NotInTheIndex | Self::Hidden | Self::Note)
    }

    fn write(self, folder: &Path, at: usize) {
        let bytes = match self {
            Self::OnlyInTheIndex => return,
            Self::Damaged => b"no image".to_vec(),
            Self::Note => b"some text".to_vec(),
            _ => jpeg(&landscape(24, 16), 1),
        };
        let _ = keep(folder, &self.name(at), &bytes);
    }
}

/// A form in which a folder of photos is described.
#[derive(Clone, Copy, Debug)]
enum Form {
    Folders,
    CocoBoxes,
    Inat,
    Csv,
    OpenImages,
    Karpathy,
    Table,
    Beside,
}

const FORMS: [Form; 8] = [
    Form::Folders,
    Form::CocoBoxes,
    Form::Inat,
    Form::Csv,
    Form::OpenImages,
    Form::Karpathy,
    Form::Table,
    Form::Beside,
];

impl Form {
    /// Writes the index of photos by their names; returns its files.
    fn write_index(self, root: &Path, photos: &Path, names: &[String]) -> Vec<PathBuf> {
        let numbered = || names.iter().enumerate();
        let lines = |header: &str, line: &dyn Fn(&str) -> String| {
            let rows: Vec<String> = names.iter().map(|name| line(name)).collect();
            format!("{header}\n{}\n", rows.join("\n"))
        };
        let (name, text) = match self {
            Self::Folders => return Vec::new(),
            Self::Beside => {
                let text = |name: &String| {
                    let file = photos.join(name).with_extension("txt");
                    fs::write(&file, "a caption").unwrap();
                    file
                };
                return names.iter().map(text).collect();
            }
            Self::CocoBoxes => {
                let images = numbered().map(
                    |(i, name)| json!({"id": i, "file_name": name, "width": 24, "height": 16}),
                );
                let boxes = numbered()
                    .map(|(i, _)| json!({"image_id": i, "category_id": 1, "bbox": [1, 1, 9, 9]}));
                let json = json!({
                    "images": images.collect::<Vec<_>>(),
                    "annotations": boxes.collect::<Vec<_>>(),
                    "categories": [{"id": 1, "name": "dog"}],
                });
                ("instances_val2017.json", json.to_string())
            }
            Self::Inat => {
                let images = numbered().map(|(i, name)| json!({"id": i, "file_name": name}));
                let labels = numbered().map(|(i, _)| json!({"image_id": i, "category_id": 1}));
                let json = json!({
                    "images": images.collect::<Vec<_>>(),
                    "annotations": labels.collect::<Vec<_>>(),
                    "categories": [{"id": 1, "kingdom": "k", "phylum": "p", "class": "c", "order": "o",
                        "family": "f", "genus": "g", "specific_epithet": "s"}],
                });
                ("val.json", json.to_string())
            }
            Self::Csv => (
                "metadata.csv",
                lines("filepath,class", &|name| format!("{name},dog")),
            ),
            Self::OpenImages => {
                let header = "ImageID,LabelName,XMin,XMax,YMin,YMax";
                let text = lines(header, &|name| {
                    format!("{},/m/1,.1,.9,.1,.9", name.trim_end_matches(".jpg"))
                });
                ("train-annotations-bbox.csv", text)
            }
            Self::Karpathy => {
                let images = names.iter().map(
                    |name| json!({"filename": name, "split": "train", "sentences": [{"raw": "a"}]}),
                );
                let json = json!({"images": images.collect::<Vec<_>>()});
                ("dataset_flickr8k.json", json.to_string())
            }
            Self::Table => (
                "captions.csv",
                lines("image,caption", &|name| format!("{name},a dog")),
            ),
        };
        let file = root.join(name);
        fs::write(&file, text).unwrap();
        vec![file]
    }

    fn open(self, root: &Path) -> Result<Arc<dyn Dataset>, DataError> {
        let paths = [root.to_owned()];
        match self {
            Self::Folders | Self::Inat | Self::Csv => registry::open(&paths, Need::Labels),
            Self::CocoBoxes => registry::open(&paths, Need::Boxes),
            Self::OpenImages => (open_images::FORMAT.open)(&paths),
            Self::Karpathy | Self::Table | Self::Beside => captions::open(&paths, Splits::TRAINING),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn records_and_counted_files_are_all_files(
        kinds in prop::collection::vec(0..Entry::ALL.len(), 0..9),
    ) {
        // Without a photo, data is refused.
        let entries = [Entry::Photo].into_iter().chain(kinds.into_iter().map(|k| Entry::ALL[k]));
        let entries: Vec<Entry> = entries.collect();
        for form in FORMS {
            let dir = tempfile::tempdir().unwrap();
            let photos = dir.path().join("photos/dog");
            fs::create_dir_all(&photos).unwrap();
            let mut names = Vec::new();
            for (at, entry) in entries.iter().enumerate() {
                entry.write(&photos, at);
                if entry.is_in_the_index() {
                    names.push(entry.name(at));
                }
            }
            let root = match form {
                // The folders of classes lie one level down.
                Form::Folders => dir.path().join("photos"),
                _ => dir.path().to_owned(),
            };
            let index = form.write_index(dir.path(), &photos, &names);
            let data = form.open(&root).unwrap();
            let records = read_all(&*data);
            let is_there = |record: &&Result<_, (String, Cause)>| {
                !matches!(record, Err((_, Cause::MissingImage)))
            };
            let used = records.iter().filter(is_there).count();
            let left_out = data.left_out();
            // This rule counts rows, not files.
            let counted = left_out.iter().filter(|(rule, _)| *rule != "box without its image");
            let counted: u64 = counted.map(|(_, missing)| missing.count).sum();
            let texts_without_a_photo = match form {
                Form::Beside => entries.iter().filter(|e| **e == Entry::OnlyInTheIndex).count(),
                _ => 0,
            };
            prop_assert_eq!(
                used + counted as usize,
                below(&root).unwrap().len() - index.len() + texts_without_a_photo,
                "{:?}: {:?} with {:?}", form, entries, left_out
            );
        }
    }
}
