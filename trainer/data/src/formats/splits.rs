//! Published test splits: lists of file names, a JSON of scenes, or a range of a known order
//! (notation 6.1).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
use serde::Deserialize;

use crate::formats::folders::Folders;
use crate::formats::listed::{Listed, table};
use crate::formats::published_order::Slice;
use crate::formats::split_lists::{LISTS, List};
use crate::records::error::{DataError, Result};
use crate::records::table::Table;
use crate::records::walk;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "the published list of a split: meta/test.txt (Food-101), \
    images_variant_test.txt (FGVC-Aircraft), labels/test1.txt (DTD), annotations/test.txt (Oxford pets), \
    Testing_01.txt (SUN397), images.txt with train_test_split.txt (CUB-200-2011), \
    scenes/CLEVR_val_scenes.json (CLEVR)";

/// The split that benchmarks evaluate.
pub const TEST: &str = "test";

/// Files of CUB-200-2011: image numbers and names, and the train/test flag of each image.
const CUB: [&str; 2] = ["images.txt", "train_test_split.txt"];

/// Returns the path of CLEVR's scene file; the class of a scene is its number of objects.
fn clevr_file(folder: &Path, split: &str) -> PathBuf {
    // The test scenes are not public; the benchmark uses the validation scenes.
    let split = if split == TEST { "val" } else { split };
    folder.join(format!("scenes/CLEVR_{split}_scenes.json"))
}

/// Returns the folders to search: the folder itself and its subfolders `data` and `SUN397`, which
/// some publishers use.
fn search_folders(folder: &Path) -> [PathBuf; 3] {
    ["", "data", "SUN397"].map(|inner| folder.join(inner))
}

/// A split of a published dataset.
pub struct Split {
    /// The images.
    pub data: Table,
    /// Description of the split or range that was read, for reports.
    pub description: String,
}

fn lines(path: &Path) -> Result<Vec<String>> {
    let text = read::text(path).map_err(DataError::io(path))?;
    let lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
    // Skips the comments at the head of Oxford pets' lists.
    let lines = lines.filter(|l| !l.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

fn unexpected(file: &Path, line: &str) -> DataError {
    DataError::layout(file, EXPECTED, format!("the line `{line}`"))
}

fn existing_file(path: PathBuf) -> Option<PathBuf> {
    path.is_file().then_some(path)
}

fn read_list(list: &List, folder: &Path, file: &Path) -> Result<Vec<Listed>> {
    let images = folder.join(list.images);
    let row = |line: String| {
        let (name, label) = (list.row)(&line).ok_or_else(|| unexpected(file, &line))?;
        let path = existing_file(images.join(&name));
        Ok(Listed::new(name, path.as_deref(), label))
    };
    lines(file)?.into_iter().map(row).collect()
}

fn read_cub(folder: &Path, split: &str) -> Result<Vec<Listed>> {
    let numbered = |name: &str| -> Result<BTreeMap<String, String>> {
        let file = folder.join(name);
        let pair = |line: String| {
            let (id, value) = line
                .split_once(' ')
                .ok_or_else(|| unexpected(&file, &line))?;
            Ok((id.to_owned(), value.to_owned()))
        };
        lines(&file)?.into_iter().map(pair).collect()
    };
    let training = if split == TEST { "0" } else { "1" };
    let (names, marks) = (numbered(CUB[0])?, numbered(CUB[1])?);
    let of_split = marks.iter().filter(|(_, mark)| mark.trim() == training);
    let rows = of_split.filter_map(|(id, _)| names.get(id)).map(|name| {
        // `001.Black_footed_Albatross/Black_Footed_Albatross_0046_18.jpg`
        let class = name.split('/').next().unwrap_or(name);
        let label = class.split_once('.').map_or(class, |(_, label)| label);
        let path = existing_file(folder.join("images").join(name));
        Listed::new(name, path.as_deref(), label)
    });
    Ok(rows.collect())
}

#[derive(Deserialize)]
struct Scenes {
    scenes: Vec<Scene>,
}

#[derive(Deserialize)]
struct Scene {
    image_filename: String,
    objects: Vec<serde::de::IgnoredAny>,
}

fn read_clevr(folder: &Path, file: &Path) -> Result<Vec<Listed>> {
    let scenes: Scenes = DataError::read_json(file, EXPECTED)?;
    let row = |scene: Scene| {
        let name = scene.image_filename;
        // `CLEVR_val_000000.png` is in `images/val/`.
        let split = name.split('_').nth(1).unwrap_or_default();
        let path = existing_file(folder.join("images").join(split).join(&name));
        Listed::new(name, path.as_deref(), scene.objects.len().to_string())
    };
    Ok(scenes.scenes.into_iter().map(row).collect())
}

/// Selects the benchmark's range of rows, if there is one and its whole split is present.
fn benchmark_range(
    slice: Option<&Slice>,
    rows: Vec<Listed>,
    description: &str,
) -> (Vec<Listed>, String) {
    let key = |row: &Listed| {
        let name = walk::base_name(&row.key);
        // The key of CLEVR is the file name; keys of class folders begin with the class.
        if row.key.contains(['/', '\\']) {
            format!("{}_{name}", row.label)
        } else {
            name.to_owned()
        }
    };
    match slice {
        Some(slice) if rows.len() == slice.split_size => {
            (slice.select(rows, key), slice.description())
        }
        Some(slice) if rows.len() != slice.range.len() => {
            let (count, split_size) = (rows.len(), slice.split_size);
            let range = slice.description();
            let all = format!("{description} (all {count} images; {range} needs {split_size})");
            (rows, all)
        }
        _ => (rows, description.to_owned()),
    }
}

/// Opens the images of `split` (`train`, `val` or `test`) in a folder as published, or the range of
/// them that the benchmark `dataset` evaluates; `None` if the folder has no published split.
///
/// # Errors
/// If a list cannot be read or has an unexpected layout.
pub fn open(folder: &Path, dataset: Option<&str>, split: &str) -> Result<Option<Split>> {
    // Benchmarks evaluate test data; other splits of the same images are used in full.
    let slice = dataset.and_then(Slice::of).filter(|_| split == TEST);
    let split_of = |file: &Path, rows: Vec<Listed>| {
        let (rows, description) = benchmark_range(slice, rows, split);
        // Includes the split in the name, so that precomputed features of different splits are kept
        // apart.
        let data = table(format!("{} ({description})", file.display()), rows);
        Ok(Some(Split { data, description }))
    };
    for root in search_folders(folder) {
        for list in &LISTS {
            let file = list.path(&root, split);
            // A list counts only together with its images: other datasets also have files with such
            // names.
            if file.is_file() && root.join(list.images).is_dir() {
                return split_of(&file, read_list(list, &root, &file)?);
            }
        }
        if CUB.iter().all(|name| root.join(name).is_file()) {
            return split_of(&root, read_cub(&root, split)?);
        }
        let file = clevr_file(&root, split);
        if file.is_file() {
            return split_of(&file, read_clevr(&root, &file)?);
        }
    }
    if slice.is_some() && Folders::matches(folder) {
        let folders = Folders::open(&[folder.to_owned()])?;
        let row = |(label, path): (&str, &Path)| {
            Listed::new(path.display().to_string(), Some(path), label)
        };
        return split_of(folder, folders.images().map(row).collect());
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fault::Broken;
    use crate::records::source::Record;
    use crate::test_files::{folder, read_all, write};

    /// Returns the labels of the split in order, and `missing NAME` for missing images.
    fn labels(files: &[(&str, &str)], split: &str) -> Vec<String> {
        let dir = folder(files);
        let data = open(dir.path(), None, split).unwrap().unwrap().data;
        let label = |record: Record| record.synsets.concat();
        let missing = |broken: Broken| format!("missing {}", broken.key);
        let read = read_all(&data).into_iter();
        read.map(|r| r.map_or_else(missing, label)).collect()
    }

    #[test]
    fn food101_has_one_list_per_split() {
        let files = [
            ("meta/test.txt", "apple_pie/1\nsteak/7\n"),
            ("meta/train.txt", "steak/8\n"),
            ("images/apple_pie/1.jpg", "x"),
            ("images/steak/8.jpg", "x"),
        ];
        assert_eq!(labels(&files, "test"), ["apple_pie", "missing steak/7.jpg"]);
        assert_eq!(labels(&files, "train"), ["steak"]);
    }

    #[test]
    fn variants_of_aircraft_may_hold_blanks_and_slashes() {
        let list = "12 707-320\n13 F/A-18\n14 DC 9\n";
        let files = [
            ("data/images_variant_test.txt", list),
            ("data/images/12.jpg", "x"),
            ("data/images/13.jpg", "x"),
            ("data/images/14.jpg", "x"),
        ];
        assert_eq!(labels(&files, "test"), ["707-320", "F-A-18", "DC 9"]);
    }

    #[test]
    fn textures_pets_and_scenes_are_listed_by_their_files() {
        let dtd = [
            ("labels/test1.txt", "banded/banded_2.jpg\n"),
            ("images/banded/banded_2.jpg", "x"),
        ];
        assert_eq!(labels(&dtd, "test"), ["banded"]);
        let pets = [
            ("annotations/test.txt", "#a\ngreat_pyrenees_12 60 2 20\n"),
            ("annotations/trainval.txt", "Abyssinian_1 1 1 1\n"),
            ("images/great_pyrenees_12.jpg", "x"),
            ("images/Abyssinian_1.jpg", "x"),
        ];
        assert_eq!(labels(&pets, "test"), ["great_pyrenees"]);
        assert_eq!(labels(&pets, "train"), ["Abyssinian"]);
        let list = "/a/abbey/sun_1.jpg\n/c/control_tower/outdoor/sun_2.jpg\n";
        let sun = [
            ("Testing_01.txt", list),
            ("a/abbey/sun_1.jpg", "x"),
            ("c/control_tower/outdoor/sun_2.jpg", "x"),
        ];
        assert_eq!(labels(&sun, "test"), ["abbey", "control_tower_outdoor"]);
    }

    #[test]
    fn cub_marks_each_image_as_training_or_test() {
        let names = "1 001.Black_footed_Albatross/a.jpg\n2 002.Wren/b.jpg\n";
        let files = [
            ("images.txt", names),
            ("train_test_split.txt", "1 0\n2 1\n"),
            ("images/001.Black_footed_Albatross/a.jpg", "x"),
            ("images/002.Wren/b.jpg", "x"),
        ];
        assert_eq!(labels(&files, "test"), ["Black_footed_Albatross"]);
        assert_eq!(labels(&files, "train"), ["Wren"]);
    }

    #[test]
    fn the_class_of_a_clevr_scene_is_its_number_of_objects() {
        let scenes = r#"{"info": {}, "scenes": [
            {"image_filename": "CLEVR_val_000000.png", "objects": [{}, {}, {}]},
            {"image_filename": "CLEVR_val_000001.png", "objects": [{}]}]}"#;
        let files = [
            ("scenes/CLEVR_val_scenes.json", scenes),
            ("images/val/CLEVR_val_000000.png", "x"),
        ];
        let found = labels(&files, "test");
        assert_eq!(found, ["3", "missing CLEVR_val_000001.png"]);
    }

    #[test]
    fn the_range_of_a_benchmark_follows_from_file_names() {
        // Expected values computed with Python's hashlib on the same names.
        let rows: Vec<Listed> = ('A'..='J')
            .flat_map(|class| (1..=2700).map(move |i| (class, i)))
            .map(|(c, i)| Listed::new(format!("x/{c}/{c}_{i}.jpg"), None, c))
            .collect();
        let slice = Slice::of("eurosat");
        let (selected, description) = benchmark_range(slice, rows.clone(), "test");
        assert_eq!(selected.len(), 5000);
        assert_eq!(description, "train[10000:15000]");
        assert_eq!(selected[0].key, "x/A/A_1305.jpg");
        assert_eq!(selected[4999].key, "x/G/G_1981.jpg");
        // An incomplete split is used in full, and the description says so.
        let (selected, description) = benchmark_range(slice, rows[..40].to_vec(), "test");
        assert_eq!(selected.len(), 40);
        let expected = "test (all 40 images; train[10000:15000] needs 27000)";
        assert_eq!(description, expected);
        let rows = (0..15_000).map(|i| Listed::new(format!("CLEVR_val_{i:06}.png"), None, "3"));
        let (selected, _) = benchmark_range(Slice::of("clevr"), rows.collect(), "test");
        assert_eq!(selected[0].key, "CLEVR_val_011736.png");
        assert_eq!(selected[4999].key, "CLEVR_val_009541.png");
    }

    #[test]
    fn a_broken_list_is_an_error_and_another_folder_is_not() {
        let dir = folder(&[("images/1.jpg", "x")]);
        assert!(open(dir.path(), None, "test").unwrap().is_none());
        write(dir.path(), &[("meta/test.txt", "no slash\n")]);
        let error = open(dir.path(), None, "test").map(|_| ()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("no slash"), "{error}");
    }
}
