//! Locates the caption file and the images of a benchmark.

use std::path::{Path, PathBuf};

use crate::formats::open_images::files;
use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;

/// Expected file layout, for error messages.
pub const EXPECTED: &str = "a COCO captions JSON (images[id, file_name], annotations[image_id, \
    caption]) or a Karpathy split JSON (images[filename, split, sentences[raw]]), given directly or \
    in a folder, its images in --images DIR or below the same folder";

/// Returns the JSON file that a path refers to: the path itself, or the only one below it with a
/// caption file's name.
pub(crate) fn json_file(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if !path.is_dir() {
        return Err(DataError::layout(path, EXPECTED, "no such file or folder"));
    }
    let name_contains = |p: &Path, words: &[&str]| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && words.iter().any(|w| name.contains(w))
    };
    let all = files(path)?;
    // Of COCO's annotation files, those of the validation images are preferred.
    for words in [
        &["captions_val"][..],
        &["dataset_flickr30k", "dataset_coco"],
        &["caption"],
    ] {
        let found: Vec<&PathBuf> = all.iter().filter(|p| name_contains(p, words)).collect();
        match found.as_slice() {
            [] => {}
            [single] => return Ok((*single).clone()),
            several => {
                let names: Vec<String> = several.iter().map(|p| p.display().to_string()).collect();
                let found = format!("{}; give one of them", names.join(", "));
                return Err(DataError::layout(path, "one file of captions", found));
            }
        }
    }
    Err(DataError::layout(
        path,
        EXPECTED,
        "no .json with captions in its name",
    ))
}

/// Recognises benchmarks by their file names.
pub(crate) fn dataset_name(file: &Path) -> Option<&'static str> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let names = [
        ("captions_val2017", "coco"),
        ("captions_val2014", "coco2014"),
        ("dataset_flickr30k", "flickr30k"),
    ];
    names
        .iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, dataset)| *dataset)
}

/// Returns the folders to search for images: the folder given by the user, or else the folder of
/// the JSON. For COCO's `annotations` folder, the images are in its parent folder.
pub(crate) fn image_folders(path: &Path, file: &Path, images: Option<&Path>) -> Vec<PathBuf> {
    if let Some(images) = images {
        return vec![images.to_owned()];
    }
    if path.is_dir() {
        return vec![path.to_owned()];
    }
    let parent = folder_of(file);
    let annotations_parent = parent
        .ends_with("annotations")
        .then(|| parent.parent())
        .flatten();
    vec![annotations_parent.map_or(parent.clone(), Path::to_path_buf)]
}
