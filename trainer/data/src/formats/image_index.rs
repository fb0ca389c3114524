//! Locations of the images that an index file names.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::records::error::{DataError, Result};
use crate::records::paths::folder_of;
use crate::records::walk::{self, LeftOut, NO_IMAGE, UNLISTED};

/// Image files below a folder, by name and by number.
#[derive(Clone, Debug, Default)]
pub struct ImageIndex {
    names: HashMap<String, Vec<PathBuf>>,
    numbers: HashMap<u64, PathBuf>,
}

/// Image files without repetitions, in the order of their first use.
#[derive(Default)]
pub(crate) struct ImageFiles {
    numbers: HashMap<PathBuf, usize>,
    /// The files.
    pub(crate) paths: Vec<PathBuf>,
}

impl ImageFiles {
    /// Returns the index of a file among [`paths`](Self::paths); appends one that is new.
    pub(crate) fn number(&mut self, path: &Path) -> usize {
        *self.numbers.entry(path.to_owned()).or_insert_with(|| {
            self.paths.push(path.to_owned());
            self.paths.len() - 1
        })
    }
}

/// Returns the folder below which the images of an index are searched: a folder that was named, else that of the index
/// file. COCO's annotations are in a sibling folder of the image folders.
pub(crate) fn folder_of_images(path: &Path, file: &Path) -> PathBuf {
    if path.is_dir() {
        return path.to_owned();
    }
    let folder = folder_of(file);
    match folder.ends_with("annotations") {
        true => folder_of(&folder),
        false => folder,
    }
}

/// Returns the integer value of the last run of digits of a name (notation 5.4).
pub fn last_number(name: &str) -> Option<u64> {
    let end = name.rfind(|c: char| c.is_ascii_digit())? + 1;
    let digits = name[..end].rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Returns the deepest folder that holds all files.
fn common_folder<'a>(files: &[&'a Path]) -> Option<&'a Path> {
    let (first, others) = files.split_first()?;
    let holds_all = |folder: &&Path| others.iter().all(|file| file.starts_with(folder));
    first.parent()?.ancestors().find(holds_all)
}

impl ImageIndex {
    /// Indexes a folder recursively.
    ///
    /// # Errors
    /// If there is no such folder, or it cannot be read.
    pub fn of(folder: &Path) -> Result<Self> {
        if !folder.is_dir() {
            return Err(DataError::NoSuchPath(folder.into()));
        }
        let mut index = Self::default();
        for path in walk::images_below(folder)?.files {
            let stem = path.file_stem().unwrap_or_default();
            if let Some(number) = last_number(&stem.to_string_lossy()) {
                index.numbers.entry(number).or_insert_with(|| path.clone());
            }
            let name = path.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            index.names.entry(name).or_default().push(path);
        }
        Ok(index)
    }

    /// Returns what is left out, by rule: the images that are not among the files in use, and below the folder that
    /// holds all images in use, all other entries. Nothing, if no image in use lies in the indexed folder.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn unused<'a>(&self, used: impl IntoIterator<Item = &'a Path>) -> Result<LeftOut> {
        let used: HashSet<&Path> = used.into_iter().collect();
        let images = self.names.values().flatten().map(PathBuf::as_path);
        let images: BTreeSet<&Path> = images.collect();
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

    /// Returns the image with this name. If there are several, returns the one whose folders match
    /// those in the name, or else the first.
    pub fn find(&self, name: &str) -> Option<&Path> {
        let all = self.names.get(walk::base_name(name))?;
        let same_folder = all.iter().find(|path| path.ends_with(name));
        same_folder.or(all.first()).map(PathBuf::as_path)
    }

    /// Returns the image whose name without extension ends in this number.
    pub fn with_number(&self, number: u64) -> Option<&Path> {
        self.numbers.get(&number).map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::folder_with;

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
        let dir = folder_with(&["a/x_0007.jpg", "b/x_0007.jpg", "b/y.PNG", "b/note.txt"]);
        let index = ImageIndex::of(dir.path()).unwrap();
        for (name, file) in [
            ("b/x_0007.jpg", "b/x_0007.jpg"),
            ("elsewhere/x_0007.jpg", "a/x_0007.jpg"),
        ] {
            assert!(index.find(name).unwrap().ends_with(file), "{name}");
        }
        assert!(index.find("y.PNG").is_some() && index.find("note.txt").is_none());
        assert!(index.with_number(7).is_some() && index.with_number(8).is_none());
    }
}
