//! Locates captions and their images.

use std::path::{Path, PathBuf};

use crate::records::error::{DataError, Result};
use crate::records::walk;

use super::images::Splits;
use super::{beside, table};

/// The form and the path of captions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CaptionFile {
    /// COCO's or Karpathy's JSON.
    Json(PathBuf),
    /// A table of names and captions.
    Table(PathBuf),
    /// A folder of photos with text files.
    Beside(PathBuf),
}

impl CaptionFile {
    /// Finds the captions that a path refers to: the path itself, or what lies below it.
    ///
    /// `None` if there are none.
    ///
    /// # Errors
    /// If a folder has several files of captions, or cannot be read.
    pub(super) fn find(path: &Path, splits: Splits<'_>) -> Result<Option<Self>> {
        if path.is_file() {
            let is_json = path.extension().is_some_and(|e| e == "json");
            return Ok(match is_json {
                true => Some(Self::Json(path.to_owned())),
                false => table::matches(path).then(|| Self::Table(path.to_owned())),
            });
        }
        if !path.is_dir() {
            return Ok(None);
        }
        let all = walk::files_below(path)?.files;
        if let Some(file) = json_file(path, &all, splits)? {
            return Ok(Some(Self::Json(file)));
        }
        if let Some(file) = all.iter().find(|file| is_table(file)) {
            return Ok(Some(Self::Table(file.clone())));
        }
        Ok(beside::matches(all).then(|| Self::Beside(path.to_owned())))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Json(path) | Self::Table(path) | Self::Beside(path) => path,
        }
    }
}

/// Returns whether a file has the name and the columns of a table of captions.
fn is_table(file: &Path) -> bool {
    const STEMS: [&str; 4] = ["captions", "metadata", "results", ".token"];
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let extension = file
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    ["csv", "tsv", "txt", "jsonl"].contains(&extension)
        && STEMS.iter().any(|stem| name.contains(stem))
        && table::matches(file)
}

/// Returns the only file with the name of a JSON of captions.
fn json_file(path: &Path, all: &[PathBuf], splits: Splits<'_>) -> Result<Option<PathBuf>> {
    let name_contains = |p: &Path, words: &[&str]| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && words.iter().any(|w| name.contains(w))
    };
    // COCO has a file for each split.
    let of_coco = match splits == Splits::TRAINING {
        true => "captions_train",
        false => "captions_val",
    };
    for words in [
        &[of_coco][..],
        &["dataset_flickr8k", "dataset_flickr30k", "dataset_coco"],
        &["caption"],
    ] {
        let found: Vec<&PathBuf> = all.iter().filter(|p| name_contains(p, words)).collect();
        match found.as_slice() {
            [] => {}
            [single] => return Ok(Some((*single).clone())),
            several => {
                let names: Vec<String> = several.iter().map(|p| p.display().to_string()).collect();
                let found = format!("{}; give one of them", names.join(", "));
                return Err(DataError::layout(path, "one file of captions", found));
            }
        }
    }
    Ok(None)
}

/// Recognises benchmarks by their file names.
pub(super) fn dataset_name(file: &Path) -> Option<&'static str> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let names = [
        ("captions_val2017", "coco"),
        ("captions_val2014", "coco2014"),
        ("dataset_flickr8k", "flickr8k"),
        ("dataset_flickr30k", "flickr30k"),
    ];
    names
        .iter()
        .find(|(part, _)| name.contains(part))
        .map(|(_, dataset)| *dataset)
}
