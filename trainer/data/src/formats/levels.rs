//! Class folders at another level than the one that a user names: below `train/` and `val/`, one folder down, or
//! one folder up.

use std::path::{Path, PathBuf};

use crate::records::walk;

/// Names of the folders of splits, in lower case.
const TRAINING: [&str; 2] = ["train", "training"];
const VALIDATION: [&str; 3] = ["val", "valid", "validation"];
const TEST: [&str; 2] = ["test", "testing"];

/// Files that are looked at to tell whether a folder has images.
const LOOKED_AT: usize = 100;

/// Purpose for which class folders are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The folder of the training split.
    Training,
    /// The folder of the validation split, or else of the test split.
    Evaluation,
    /// The folder of the test split, or else of the validation split.
    Test,
    /// The folders of all splits.
    Everything,
}

/// Returns the folders of class folders that a path stands for: the only folder in it, or those of its splits for
/// a purpose. `None` for a path that is itself such a folder, and for everything else.
pub fn roots(path: &Path, purpose: Purpose) -> Option<Vec<PathBuf>> {
    let (below, others) = below(path)?;
    if below.len() == 1 && others == 0 {
        return Some(below);
    }
    let of = |names: &[&str]| -> Vec<PathBuf> {
        let named = below.iter().filter(|folder| has_name(folder, names));
        named.cloned().collect()
    };
    let (training, validation, test) = (of(&TRAINING), of(&VALIDATION), of(&TEST));
    if training.len() + validation.len() + test.len() < below.len() {
        return None;
    }
    let chosen = match purpose {
        Purpose::Training => training,
        Purpose::Evaluation if validation.is_empty() => test,
        Purpose::Test if !test.is_empty() => test,
        Purpose::Evaluation | Purpose::Test => validation,
        Purpose::Everything => below,
    };
    Some(chosen).filter(|folders| !folders.is_empty())
}

/// Replaces paths by the folders that they stand for.
pub fn resolved(paths: &[PathBuf], purpose: Purpose) -> Vec<PathBuf> {
    let of = |path: &PathBuf| roots(path, purpose).unwrap_or_else(|| vec![path.clone()]);
    paths.iter().flat_map(of).collect()
}

/// Says where class folders lie, if a path is a folder at another level; empty if nothing is known.
pub fn hint(path: &Path) -> String {
    let Ok(here) = walk::entries(path) else {
        return String::new();
    };
    if let Some((below, _)) = below(path) {
        let names: Vec<String> = below.iter().take(3).map(|p| walk::shown(p)).collect();
        return format!(
            "; class folders lie in {}: name one of these",
            names.join(", ")
        );
    }
    let images = here.files.iter().filter(|file| walk::is_image_file(file));
    let images = images.count();
    match path.parent().filter(|_| images > 0) {
        None => String::new(),
        Some(above) if has_classes(above) => format!(
            "; {images} images lie directly in it, and it is the folder of one class: name {}",
            walk::shown(above)
        ),
        Some(_) => format!(
            "; {images} images lie directly in it: move those of each class into a folder of its own"
        ),
    }
}

/// Returns whether a folder holds class folders.
pub(super) fn has_classes(path: &Path) -> bool {
    let Ok(found) = walk::entries(path) else {
        return false;
    };
    let has_images = |folder: &PathBuf| {
        let files = walk::entries(folder).map(|found| found.files);
        let mut first = files.unwrap_or_default().into_iter().take(LOOKED_AT);
        first.any(|file| walk::is_image_file(&file))
    };
    found.folders.iter().any(has_images)
}

/// Returns the folders in a folder that are folders of class folders, and the number of its other folders; `None` if
/// there are none, or the folder is such a one itself.
fn below(path: &Path) -> Option<(Vec<PathBuf>, usize)> {
    let here = walk::entries(path).ok()?;
    if has_classes(path) {
        return None;
    }
    let count = here.folders.len();
    let folders = here.folders.into_iter();
    let below: Vec<PathBuf> = folders.filter(|folder| has_classes(folder)).collect();
    let others = count - below.len();
    Some((below, others)).filter(|(below, _)| !below.is_empty())
}

fn has_name(folder: &Path, names: &[&str]) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    names.contains(&name.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::folder_with;

    /// Returns the names of the folders that a folder stands for, joined by blanks.
    fn names(dir: &tempfile::TempDir, purpose: Purpose) -> Option<String> {
        let roots = roots(dir.path(), purpose)?;
        let names = roots
            .iter()
            .map(|root| root.strip_prefix(dir.path()).unwrap());
        Some(names.map(walk::shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn splits_side_by_side_are_chosen_by_purpose() {
        let images = ["train/cat/1.jpg", "Val/cat/2.jpg", "test/dog/3.jpg"];
        let dir = folder_with(&[&images[..], &["README.md"]].concat());
        for (purpose, expected) in [
            (Purpose::Training, "train"),
            (Purpose::Evaluation, "Val"),
            (Purpose::Test, "test"),
            (Purpose::Everything, "Val test train"),
        ] {
            assert_eq!(names(&dir, purpose).unwrap(), expected);
        }
    }

    #[test]
    fn other_levels_are_resolved_where_plain_and_else_named() {
        let dir = folder_with(&["photos/cat/1.jpg", "photos/dog/1.jpg"]);
        assert_eq!(names(&dir, Purpose::Training).unwrap(), "photos");
        assert_eq!(roots(&dir.path().join("photos"), Purpose::Training), None);
        let low = hint(&dir.path().join("photos/cat"));
        assert!(low.contains("1 images") && low.ends_with("photos"), "{low}");

        // Without photos to evaluate on, those of training are not taken in their place.
        let alone = folder_with(&["train/cat/1.jpg", "val/readme.txt"]);
        assert_eq!(names(&alone, Purpose::Training).unwrap(), "train");
        assert_eq!(names(&alone, Purpose::Evaluation), None);

        let years = folder_with(&["2019/cat/1.jpg", "2020/cat/1.jpg"]);
        assert_eq!(names(&years, Purpose::Training), None);
        assert!(hint(years.path()).contains("2019"));

        let flat = folder_with(&["a/1.jpg"]);
        assert!(hint(&flat.path().join("a")).contains("name "));
        assert_eq!(hint(&flat.path().join("none")), "");
    }
}
