//! WebDataset tars of labelled images, `<key>.jpg` with `<key>.cls`, and the folders in which CLIP_benchmark
//! publishes them: `classnames.txt`, `test/0.tar`, `test/1.tar`, …
//!
//! A `.cls` member holds the number of the class, or its name. Numbers become names where there is a
//! `classnames.txt` beside the tars or in the folder above.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_io::disk::read;
use espalier_io::storage::{self, ShardFile, ShardReader};

use super::format::{Format, MAX_NAME};
use super::tar_index::{self, MemberGroup};
use super::tar_shard::image_of;
use crate::records::error::{DataError, Result};
use crate::records::fault::{Broken, Cause, Fault};
use crate::records::paths::{self, Container};
use crate::records::source::{Record, Records};
use crate::records::table::Table;
use crate::records::walk;

/// This format.
pub const FORMAT: Format = Format {
    name: "class tars",
    labels: true,
    boxes: false,
    detect: |found| found.iter().all(|path| matches(path)) && !found.is_empty(),
    open: |found| Ok(Arc::new(open(found)?)),
};

/// File with the names of the classes, one per line.
const NAMES: &str = "classnames.txt";

/// Folder of the split that a benchmark evaluates.
const TEST: &str = "test";

/// Extension of the label of an image.
const CLASS: &str = "cls";

/// Number of members of a tar that are looked at to recognise it.
const MEMBERS: usize = 8;

/// Largest number of bytes of a label.
const MAX_CLASS: u64 = MAX_NAME as u64;

fn is_tar(path: &Path) -> bool {
    Container::of(path) == Some(Container::Tar)
}

/// Returns the tars in a folder, by name.
fn tars_in(folder: &Path) -> Vec<PathBuf> {
    let entries = walk::entries(folder).unwrap_or_default();
    entries.files.into_iter().filter(|p| is_tar(p)).collect()
}

/// Returns the folder with the tars of a benchmark: the folder itself, or its test split.
fn folder_of_tars(path: &Path) -> PathBuf {
    let test = path.join(TEST);
    if tars_in(path).is_empty() && !tars_in(&test).is_empty() {
        test
    } else {
        path.to_owned()
    }
}

/// Returns whether the first members of a tar are images with classes and nothing else.
fn has_classes(tar: &Path) -> bool {
    let Ok(file) = ShardFile::open(tar) else {
        return false;
    };
    let mut archive = tar::Archive::new(ShardReader::new(file, 0));
    let Ok(entries) = archive.entries() else {
        return false;
    };
    let names: Vec<String> = entries
        .take(MEMBERS)
        .filter_map(|entry| Some(entry.ok()?.path().ok()?.to_string_lossy().to_lowercase()))
        .collect();
    let has = |extension: &str| names.iter().any(|name| name.ends_with(extension));
    // Boxes and captions are in the `.json`, which other readers need.
    has(".cls") && !has(".json")
}

/// Returns whether a path is such a tar, or a folder with some.
pub fn matches(path: &Path) -> bool {
    if path.is_dir() {
        let tars = tars_in(&folder_of_tars(path));
        return tars.first().is_some_and(|tar| has_classes(tar));
    }
    is_tar(path) && !storage::is_remote(path) && path.is_file() && has_classes(path)
}

/// Reads the names of the classes, where there are some beside the tars or above.
fn class_names(tar: &Path) -> Result<Vec<String>> {
    let above = tar.ancestors().skip(1).take(2);
    let Some(file) = above
        .map(|folder| folder.join(NAMES))
        .find(|file| file.is_file())
    else {
        return Ok(Vec::new());
    };
    let text = read::text(&file).map_err(DataError::io(&file))?;
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Opens tars and folders of tars.
///
/// # Errors
/// If a tar cannot be opened or there is no image.
pub fn open(found: &[PathBuf]) -> Result<Table> {
    let folders: Vec<PathBuf> = found.iter().map(|path| folder_of_tars(path)).collect();
    let (tars, mut left_out) = paths::expand_counted(&folders)?;
    let tars = tars.into_iter().filter(|(_, kind)| *kind == Container::Tar);
    let mut rows = Vec::new();
    for (tar, _) in tars {
        let names: Arc<[String]> = class_names(&tar)?.into();
        let file = ShardFile::open(&tar).map_err(DataError::io(&tar))?;
        let index = tar_index::index(&file).map_err(DataError::io(&tar))?;
        walk::merge(&mut left_out, index.left_out);
        let last = index.truncated_key.unwrap_or_else(|| "last".to_owned());
        let end = index.truncation.map(|fault| Err(fault.of(last)));
        let groups = index.groups.into_iter().map(Ok).chain(end);
        rows.extend(groups.map(|group| Row {
            group,
            names: Arc::clone(&names),
        }));
    }
    let place = found.first().map(|path| path.display().to_string());
    let place = place.unwrap_or_default();
    if rows.is_empty() {
        return Err(DataError::NothingFound {
            place,
            found: "no image in a tar".into(),
        });
    }
    Ok(Table::new(place, rows.len(), Rows(rows)).with_left_out(left_out))
}

/// An image of a tar, or the end of a truncated one.
struct Row {
    group: std::result::Result<MemberGroup, Broken>,
    names: Arc<[String]>,
}

struct Rows(Vec<Row>);

/// Returns the label of an image: the name of its class, or what the tar says.
fn label(group: &MemberGroup, names: &[String]) -> std::result::Result<String, Fault> {
    let fault = |detail: String| Fault::new(Cause::UnreadableMetadata, detail);
    let member = group.required(CLASS)?;
    if member.len > MAX_CLASS {
        return Err(fault(format!(
            ".{CLASS}: expected at most {MAX_CLASS} bytes, found {}",
            member.len
        )));
    }
    let text = read::text_of(member.read()?).map_err(|e| fault(format!(".{CLASS}: {e}")))?;
    let text = text.trim();
    match text.parse::<usize>() {
        Ok(number) if !names.is_empty() => names.get(number).cloned().ok_or_else(|| {
            fault(format!(
                ".{CLASS}: expected a class below {}, the number of lines of {NAMES}, found {number}",
                names.len()
            ))
        }),
        _ if text.is_empty() => Err(fault(format!(".{CLASS}: expected a class, found nothing"))),
        _ => Ok(text.to_owned()),
    }
}

impl Records for Rows {
    fn read(&self, row: usize) -> std::result::Result<Record, Broken> {
        let Row { group, names } = &self.0[row];
        let group = group.as_ref().map_err(Clone::clone)?;
        let record = || -> std::result::Result<Record, Fault> {
            let image = image_of(group)?;
            let label = label(group, names)?;
            let (key, caption) = (group.key.clone(), label.replace('_', " "));
            Ok(Record::labelled(key, image, Some(label), caption))
        };
        record().map_err(|fault| fault.of(group.key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::{folder, read_all, tar_of};

    const TWO: [(&str, &str); 4] = [
        ("s0.webp", "x"),
        ("s0.cls", "1"),
        ("s1.webp", "x"),
        ("s1.cls", "0\n"),
    ];
    const ONE: [(&str, &str); 2] = [("s0.webp", "x"), ("s0.cls", "2")];

    fn labels(path: &Path) -> Vec<String> {
        assert!(matches(path));
        let read = read_all(&open(&[path.to_owned()]).unwrap()).into_iter();
        let label = |record: Record| record.synsets.concat();
        read.map(|r| r.map_or_else(|broken| broken.fault.detail, label))
            .collect()
    }

    #[test]
    fn a_benchmark_folder_and_a_tar_alone_are_read() {
        let dir = folder(&[("test/0.tar", tar_of(&TWO)), ("test/1.tar", tar_of(&ONE))]);
        let test = dir.path().join("test");
        assert_eq!(labels(&test.join("0.tar")), ["1", "0"]);
        std::fs::write(dir.path().join(NAMES), "airplane\ntabby cat\n").unwrap();
        let found = labels(dir.path());
        assert_eq!(found[..2], ["tabby cat", "airplane"]);
        assert!(found[2].contains("below 2"), "{found:?}");
        assert_eq!(labels(&test), found);
    }

    #[test]
    fn tars_with_captions_are_left_to_other_readers() {
        let members = [("1.jpg", "0"), ("1.json", "0"), ("1.cls", "0")];
        let dir = folder(&[("0.tar", tar_of(&members))]);
        assert!(!matches(&dir.path().join("0.tar")));
    }
}
