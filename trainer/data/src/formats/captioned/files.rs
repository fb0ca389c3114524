//! Locates captions and their images.

use std::path::{Path, PathBuf};

use crate::records::error::{DataError, Result};
use crate::records::walk;

use super::images::Splits;
use super::{beside, table};

/// The form of captions.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// COCO's or Karpathy's JSON.
    Json,
    /// A table of names and captions.
    Table,
    /// A folder of photos with text files.
    Beside,
}

/// Finds the captions that a path refers to, the path itself or what lies below it; returns their form and path.
///
/// `None` if there are none.
///
/// # Errors
/// If a folder has several files of captions, or cannot be read.
pub(super) fn find(path: &Path, splits: Splits<'_>) -> Result<Option<(Form, PathBuf)>> {
    if path.is_file() {
        let form = match path.extension().is_some_and(|e| e == "json") {
            true => Some(Form::Json),
            false => table::matches(path).then_some(Form::Table),
        };
        return Ok(form.map(|form| (form, path.to_owned())));
    }
    if !path.is_dir() {
        return Ok(None);
    }
    let all = walk::files_below(path)?.files;
    if let Some(file) = json_file(path, &all, splits)? {
        return Ok(Some((Form::Json, file)));
    }
    if let Some(file) = all.iter().find(|file| is_table(file)) {
        return Ok(Some((Form::Table, file.clone())));
    }
    Ok(beside::matches(all).then(|| (Form::Beside, path.to_owned())))
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
    let known = names.iter().find(|(part, _)| name.contains(part));
    known.map(|(_, dataset)| *dataset)
}
