//! COCO's boxes: `instances_*.json` with images below the same folder (notation 6.8).

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::format::{Format, is_single, open_single};
use crate::formats::image_index::{ImageIndex, folder_of_images};
use crate::formats::scenes::{Scene, Scenes};
use crate::records::error::{DataError, Result};
use crate::records::table::Table;
use crate::records::walk::{self, DANGLING};

/// This format.
pub const FORMAT: Format = Format {
    name: "COCO boxes",
    labels: false,
    boxes: true,
    detect: |paths| is_single(paths, matches),
    open: |paths| open_single(paths, open),
};

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "COCO's instances JSON (images[id, file_name, width, height], \
    annotations[image_id, category_id, bbox, iscrowd], categories[id, name]), given directly or in a folder, \
    its images below the same folder";

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
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
struct Annotation {
    image_id: u64,
    category_id: u64,
    /// Left, top, width, height in pixels.
    bbox: [f64; 4],
    /// 1 for a group enclosed by a single box.
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct Category {
    id: u64,
    name: String,
}

/// Returns the JSON that a path refers to: the path itself, or the file below it with COCO's name
/// for the validation instances, or else the only file named `instances_*.json`.
fn json_file(path: &Path) -> Option<PathBuf> {
    let is_json_of = |start: &str, path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(".json")
    };
    if path.is_file() {
        return is_json_of("instances", path).then(|| path.to_owned());
    }
    let mut all = walk::files_below(path).ok()?.files;
    all.retain(|file| is_json_of("instances", file));
    let validation = all
        .iter()
        .position(|file| is_json_of("instances_val", file));
    let only = (all.len() == 1).then_some(0);
    validation.or(only).map(|at| all.swap_remove(at))
}

/// Returns whether a path is such a JSON, or a folder with one.
pub fn matches(path: &Path) -> bool {
    json_file(path).is_some()
}

/// Reads the index and locates its images; groups enclosed by a single box are skipped.
///
/// # Errors
/// If the file cannot be read or has an unexpected layout, or no annotation has an existing image
/// and category.
pub fn open(path: &Path) -> Result<Table> {
    let file = json_file(path).ok_or_else(|| DataError::layout(path, EXPECTED, "no such file"))?;
    let index: Index = DataError::read_json(&file, EXPECTED)?;
    let files = ImageIndex::of(&folder_of_images(path, &file))?;
    let categories = index.categories.into_iter();
    let names: HashMap<u64, Arc<str>> = categories.map(|c| (c.id, c.name.into())).collect();
    let mut scenes: BTreeMap<u64, Scene> = BTreeMap::new();
    let images: HashMap<u64, &Image> = index.images.iter().map(|i| (i.id, i)).collect();
    let (mut dangling, mut groups) = (0, 0);
    for annotation in &index.annotations {
        if annotation.iscrowd != 0 {
            groups += 1;
            continue;
        }
        let found = (
            images.get(&annotation.image_id),
            names.get(&annotation.category_id),
        );
        let (Some(image), Some(name)) = found else {
            dangling += 1;
            continue;
        };
        let scene = scenes.entry(image.id).or_insert_with(|| {
            let file = files.find(&image.file_name).map(Path::to_path_buf);
            Scene::new(&image.file_name, file, Some((image.width, image.height)))
        });
        let [x, y, w, h] = annotation.bbox;
        let stored = [
            x / image.width,
            y / image.height,
            (x + w) / image.width,
            (y + h) / image.height,
        ];
        scene.add(name, None, stored);
    }
    if scenes.is_empty() {
        let found = "no annotation of a listed image and category";
        return Err(DataError::layout(&file, EXPECTED, found));
    }
    let scenes: Vec<Scene> = scenes.into_values().collect();
    let used = scenes.iter().filter_map(|scene| scene.file.as_deref());
    let mut left_out = files.unused(used.chain([file.as_path()]))?;
    walk::leave_out(&mut left_out, DANGLING, dangling, &file);
    walk::leave_out(&mut left_out, "box of a group", groups, &file);
    let name = file.display().to_string();
    Ok(Table::new(name, scenes.len(), Scenes(scenes)).with_left_out(left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fault::Cause;
    use crate::records::source::Dataset;
    use crate::test_files::folder;

    #[test]
    fn boxes_are_relative_to_their_image_and_groups_are_skipped() {
        let json = r#"{"images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50},
            {"id": 2, "file_name": "b.jpg", "width": 10, "height": 10}],
            "annotations": [
            {"image_id": 1, "category_id": 18, "bbox": [10, 5, 50, 20], "iscrowd": 0},
            {"image_id": 1, "category_id": 18, "bbox": [90, 0, 30, 50]},
            {"image_id": 1, "category_id": 18, "bbox": [5, 5, 0, 9], "iscrowd": 0},
            {"image_id": 1, "category_id": 18, "bbox": [0, 0, 9, 9], "iscrowd": 1},
            {"image_id": 2, "category_id": 18, "bbox": [0, 0, 9, 9], "iscrowd": 0},
            {"image_id": 3, "category_id": 18, "bbox": [0, 0, 9, 9], "iscrowd": 0}],
            "categories": [{"id": 18, "name": "dog"}]}"#;
        let dir = folder(&[
            ("annotations/instances_val2017.json", json),
            ("annotations/instances_train2017.json", "{}"),
            ("val2017/a.jpg", "x"),
        ]);
        let file = dir.path().join("annotations/instances_val2017.json");
        for path in [dir.path(), file.as_path()] {
            assert!(matches(path));
            let data = open(path).unwrap();
            assert_eq!(data.records(), 2);
            let rows = data.load(0).unwrap();
            let record = rows.read(0).unwrap();
            let places = record.boxes.iter().map(|b| b.region.relative().unwrap());
            let expected = [[0.1, 0.1, 0.6, 0.5], [0.9, 0.0, 1.0, 1.0]];
            assert_eq!(places.collect::<Vec<_>>(), expected);
            assert_eq!((record.tally.outside, record.tally.inverted), (1, 1));
            assert_eq!(record.boxes[0].label(), "dog");
            assert_eq!(rows.read(1).unwrap_err().fault.cause, Cause::MissingImage);
        }
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(open(&file).map(|_| ()).unwrap_err().exit_code(), 2);
    }
}
