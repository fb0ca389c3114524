//! iNaturalist 2021: a COCO-like JSON of images, categories with their ranks, and annotations
//! (notation 5.6). Folders without the JSON are read by [`crate::formats::folders`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
use serde::Deserialize;

use super::format::{Format, MAX_NAME, is_single, open_single};
use crate::formats::image_index::ImageIndex;
use crate::formats::listed::{Listed, table};
use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;
use crate::records::table::Table;
use crate::records::walk::{self, DANGLING};

/// This format.
pub const FORMAT: Format = Format {
    name: "iNaturalist JSON",
    labels: true,
    boxes: false,
    detect: |paths| is_single(paths, matches),
    open: |paths| open_single(paths, open),
};

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "iNaturalist's val.json (images[id, file_name], annotations[image_id, \
    category_id], categories[id, kingdom .. genus, specific_epithet]) with its images below the same \
    folder";

#[derive(Deserialize)]
struct Index {
    images: Vec<Image>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct Image {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: u64,
    category_id: u64,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    kingdom: String,
    phylum: String,
    class: String,
    order: String,
    family: String,
    genus: String,
    specific_epithet: String,
    #[serde(default)]
    common_name: String,
}

impl Category {
    fn label(&self) -> String {
        let ranks = [
            &self.kingdom,
            &self.phylum,
            &self.class,
            &self.order,
            &self.family,
            &self.genus,
            &self.specific_epithet,
        ];
        ranks.map(|rank| rank.trim()).join("/")
    }
}

/// Returns the JSON that a path refers to: the path itself, or the `val.json` in it.
fn json_file(path: &Path) -> Option<PathBuf> {
    let is_json = |p: &Path| p.is_file() && p.extension().is_some_and(|e| e == "json");
    let candidates = [path.to_owned(), path.join("val.json")];
    candidates.into_iter().find(|p| is_json(p))
}

/// Returns whether a path is such a JSON, or a folder with one.
pub fn matches(path: &Path) -> bool {
    let index = json_file(path).and_then(|file| read::json::<Index>(file).ok());
    index.is_some_and(|index| !index.categories.is_empty())
}

/// Reads the index and locates its images. Their label is the lineage, ranks joined by `/`.
///
/// # Errors
/// If the file cannot be read or has an unexpected layout.
pub fn open(path: &Path) -> Result<Table> {
    let file = json_file(path).ok_or_else(|| DataError::layout(path, EXPECTED, "no such file"))?;
    let index: Index = DataError::read_json(&file, EXPECTED)?;
    let is_long = |category: &&Category| {
        category.label().len() > MAX_NAME || category.common_name.len() > MAX_NAME
    };
    if let Some(Category { id, .. }) = index.categories.iter().find(is_long) {
        let found = format!("a name of more than {MAX_NAME} bytes in category {id}");
        return Err(DataError::layout(&file, EXPECTED, found));
    }
    let images = ImageIndex::of(&folder_of(&file))?;
    let categories: HashMap<u64, &Category> = index.categories.iter().map(|c| (c.id, c)).collect();
    let names = index.images.iter().map(|i| (i.id, i.file_name.as_str()));
    let names: HashMap<u64, &str> = names.collect();
    let row = |annotation: &Annotation| {
        let name = *names.get(&annotation.image_id)?;
        let category = categories.get(&annotation.category_id)?;
        Some(Listed {
            common: category.common_name.clone(),
            ..Listed::new(name, images.find(name), category.label())
        })
    };
    let rows: Vec<Listed> = index.annotations.iter().filter_map(row).collect();
    let dangling = index.annotations.len() - rows.len();
    if rows.is_empty() {
        let found = "no annotation of a listed image and category";
        return Err(DataError::layout(&file, EXPECTED, found));
    }
    let files = rows.iter().filter_map(|row| row.file.as_deref());
    let mut left_out = images.unused(files.chain([file.as_path()]))?;
    walk::leave_out(&mut left_out, DANGLING, dangling as u64, &file);
    Ok(table(file.display().to_string(), rows).with_left_out(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use crate::records::source::Dataset;
    use crate::test_files::folder;

    #[test]
    fn the_label_of_an_image_is_its_lineage() {
        let json = r#"{"images": [{"id": 1, "file_name": "val/x/a.jpg"}, {"id": 2, "file_name": "val/x/b.jpg"}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 7}, {"id": 2, "image_id": 2, "category_id": 7},
            {"id": 3, "image_id": 9, "category_id": 7}],
            "categories": [{"id": 7, "name": "A b", "common_name": "", "kingdom": "Animalia", "phylum": "P",
            "class": "C", "order": "O", "family": "F", "genus": "G", "specific_epithet": "b sp."}]}"#;
        let dir = folder(&[("val.json", json), ("val/x/a.jpg", "x")]);
        assert!(matches(dir.path()));
        let data = open(dir.path()).unwrap();
        assert_eq!(data.records(), 2);
        let rows = data.load(0).unwrap();
        assert_eq!(rows.read(0).unwrap().synsets, ["Animalia/P/C/O/F/G/b sp."]);
        assert_eq!(rows.read(1).unwrap_err().fault.cause, Cause::MissingImage);
        std::fs::write(dir.path().join("val.json"), "{}").unwrap();
        assert!(!matches(dir.path()));
        assert_eq!(open(dir.path()).map(|_| ()).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_category_with_a_long_name_is_refused_since_each_photo_would_copy_it() {
        let open_with = |family: &str| {
            let json = serde_json::json!({
                "images": [{"id": 1, "file_name": "a.jpg"}],
                "annotations": [{"image_id": 1, "category_id": 7}],
                "categories": [{"id": 7, "kingdom": "A", "phylum": "P", "class": "C", "order": "O",
                    "family": family, "genus": "G", "specific_epithet": "s"}],
            });
            let dir = folder(&[("val.json", json.to_string())]);
            open(dir.path()).map(|data| data.records())
        };
        assert_eq!(open_with("F").unwrap(), 1);
        let message = open_with(&"F".repeat(MAX_NAME)).unwrap_err().to_string();
        assert!(
            message.ends_with("more than 1000 bytes in category 7"),
            "{message}"
        );
    }
}
