//! Locations of the images that an index file names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::records::error::Result;
use crate::records::walk::{self, LeftOut, NO_IMAGE, UNLISTED};

/// Image files below given folders, by name and by number.
#[derive(Clone, Debug, Default)]
pub struct ImageIndex {
    names: HashMap<String, Vec<PathBuf>>,
    numbers: HashMap<u64, PathBuf>,
    count: usize,
}

/// Returns the integer value of the last run of digits of a name (notation 5.4).
#[must_use]
pub fn last_number(name: &str) -> Option<u64> {
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = name[..end]
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| {
            at + name[at..].chars().next().map_or(1, char::len_utf8)
        });
    name[start..end].parse().ok()
}

fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Returns the deepest folder that holds all files.
fn common_folder<'a>(files: &[&'a Path]) -> Option<&'a Path> {
    let (first, others) = files.split_first()?;
    let holds_all = |folder: &&Path| others.iter().all(|file| file.starts_with(folder));
    first.parent()?.ancestors().find(holds_all)
}

impl ImageIndex {
    /// Indexes the given folders recursively.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn of(folders: &[PathBuf]) -> Result<Self> {
        let mut index = Self::default();
        for folder in folders {
            for path in walk::images_below(folder)?.files {
                let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else {
                    continue;
                };
                let stem = name
                    .rsplit_once('.')
                    .map_or(name.as_str(), |(stem, _)| stem);
                if let Some(number) = last_number(stem) {
                    index.numbers.entry(number).or_insert_with(|| path.clone());
                }
                index.names.entry(name).or_default().push(path);
                index.count += 1;
            }
        }
        Ok(index)
    }

    /// Returns what is left out, by rule: the images that are not among the files in use, and below the folder that
    /// holds all images in use, all other entries. Nothing, if no image in use lies in the indexed folders.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn unused<'a>(&self, used: impl IntoIterator<Item = &'a Path>) -> Result<LeftOut> {
        let used: HashSet<&Path> = used.into_iter().collect();
        let images: BTreeSet<&Path> = self
            .names
            .values()
            .flatten()
            .map(PathBuf::as_path)
            .collect();
        // An index may lead to an image by another path, for example through `..`.
        let elsewhere: HashSet<PathBuf> = used
            .iter()
            .filter(|file| !images.contains(*file))
            .filter_map(|file| fs::canonicalize(file).ok())
            .collect();
        let is_used = |file: &Path| {
            used.contains(file)
                || !elsewhere.is_empty()
                    && fs::canonicalize(file).is_ok_and(|file| elsewhere.contains(&file))
        };
        let (in_use, others): (Vec<&Path>, Vec<&Path>) =
            images.into_iter().partition(|file| is_used(file));
        let Some(folder) = common_folder(&in_use) else {
            return Ok(LeftOut::new());
        };
        let found = walk::files_below(folder)?;
        let mut left_out = found.left_out;
        for file in others {
            walk::leave_out(&mut left_out, UNLISTED, 1, file);
        }
        for file in found.files {
            if !is_used(&file) && !walk::is_image_file(&file) {
                walk::leave_out(&mut left_out, NO_IMAGE, 1, &file);
            }
        }
        Ok(left_out)
    }

    /// Returns the number of images.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no images.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the image with this name. If there are several, returns the one whose folders match
    /// those in the name, or else the first.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Path> {
        let all = self.names.get(base(name))?;
        let same_folder = all.iter().find(|path| path.ends_with(name));
        same_folder.or(all.first()).map(PathBuf::as_path)
    }

    /// Returns the image whose name without extension ends in this number.
    #[must_use]
    pub fn with_number(&self, number: u64) -> Option<&Path> {
        self.numbers.get(&number).map(PathBuf::as_path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_last_run_of_digits_is_the_number() {
        assert_eq!(last_number("COCO_val2014_000000391895"), Some(391_895));
        assert_eq!(last_number("000000000042"), Some(42));
        assert_eq!(last_number("a7b"), Some(7));
        assert_eq!(last_number("é12"), Some(12));
        assert_eq!(last_number("none"), None);
    }

    #[test]
    fn images_are_found_by_name_folder_and_number() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/x_0007.jpg", "b/x_0007.jpg", "b/y.PNG", "b/note.txt"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let index = ImageIndex::of(&[dir.path().to_owned()]).unwrap();
        assert_eq!(index.len(), 3);
        assert!(
            index
                .find("b/x_0007.jpg")
                .unwrap()
                .ends_with("b/x_0007.jpg")
        );
        assert!(
            index
                .find("elsewhere/x_0007.jpg")
                .unwrap()
                .ends_with("a/x_0007.jpg")
        );
        assert!(index.find("y.PNG").is_some() && index.find("note.txt").is_none());
        assert!(index.with_number(7).is_some() && index.with_number(8).is_none());
    }
}
