//! The classes of a folder of photos, and the photos that are set aside.

use std::path::{Path, PathBuf};

use espalier_data::formats::folders::Folders;
use espalier_io::disk::read;
use espalier_io::exit::usage;

/// Default share of the photos of a class that is set aside.
pub const SHARE: f64 = 0.2;

/// Value of the column `split` for photos to train on.
pub const TRAIN: &str = "train";

/// Value of the column `split` for photos that are set aside to measure the model.
pub const HELD_OUT: &str = "held-out";

/// Header of the list of photos.
const HEADER: [&str; 4] = ["filepath", "class", "common_name", "split"];

/// A folder of photos of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhotoClass {
    /// Name of the folder, which is the label of its photos.
    pub label: String,
    /// Photos to train on.
    pub train: Vec<PathBuf>,
    /// Photos that are set aside.
    pub held_out: Vec<PathBuf>,
}

/// Lists the photos of each class folder and sets a share of each class aside: evenly spaced ones in the
/// order of file names, at least one of three or more photos.
///
/// # Errors
/// Bad usage for fewer than two classes, a class with a single photo, or a folder name that cannot
/// be a label.
pub fn read(folder: &Path, hold_out: f64) -> anyhow::Result<Vec<PhotoClass>> {
    if !(0.0..=0.5).contains(&hold_out) {
        return Err(usage(format!(
            "--hold-out: expected a share from 0 to 0.5, found {hold_out}"
        )));
    }
    let folder = std::path::absolute(folder)?;
    let found = Folders::open(std::slice::from_ref(&folder))?;
    let mut classes: Vec<PhotoClass> = Vec::new();
    for (label, photo) in found.pictures() {
        match classes.last_mut().filter(|class| class.label == label) {
            Some(class) => class.train.push(photo.to_owned()),
            None => classes.push(PhotoClass {
                label: label.to_owned(),
                train: vec![photo.to_owned()],
                held_out: Vec::new(),
            }),
        }
    }
    let place = folder.display();
    if let [only] = classes.as_slice() {
        return Err(usage(format!(
            "{place}: expected a folder of photos for each of two or more classes, found only `{}`",
            only.label
        )));
    }
    for class in &mut classes {
        let label = &class.label;
        if label.contains(['|', '\t', '\n']) || label.trim() != label {
            return Err(usage(format!(
                "{place}: expected folder names without `|`, tabs and blanks at the ends, found `{label}`"
            )));
        }
        if class.train.len() < 2 {
            return Err(usage(format!(
                "{place}: expected at least 2 photos of each class, found 1 in `{label}`"
            )));
        }
        set_aside(class, hold_out);
    }
    Ok(classes)
}

/// Moves evenly spaced photos from those to train on to those set aside.
fn set_aside(class: &mut PhotoClass, hold_out: f64) {
    let all = std::mem::take(&mut class.train);
    let least = usize::from(hold_out > 0.0 && all.len() > 2);
    let count = ((all.len() as f64 * hold_out).round() as usize).max(least);
    for (at, photo) in all.iter().enumerate() {
        // True for `count` of all positions.
        let is_held_out = (at + 1) * count / all.len() > at * count / all.len();
        let part = if is_held_out {
            &mut class.held_out
        } else {
            &mut class.train
        };
        part.push(photo.clone());
    }
}

/// Returns the list of all photos as a CSV that `--data` reads. `node` gives the id and the name of the
/// node of each label.
///
/// # Errors
/// Bad usage for a path that is not text.
pub fn to_csv(
    classes: &[PhotoClass],
    node: impl Fn(&str) -> (String, String),
) -> anyhow::Result<String> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(HEADER)?;
    for class in classes {
        let (id, name) = node(&class.label);
        let parts = [(TRAIN, &class.train), (HELD_OUT, &class.held_out)];
        for (split, photo) in parts
            .iter()
            .flat_map(|(s, p)| p.iter().map(move |p| (s, p)))
        {
            let path = photo.to_str().ok_or_else(|| {
                usage(format!(
                    "{}: expected a file name in UTF-8; rename it",
                    photo.display()
                ))
            })?;
            rows.write_record([path, &id, &name, split])?;
        }
    }
    Ok(String::from_utf8(rows.into_inner()?)?)
}

/// Reads a list that [`to_csv`] wrote; the labels are the ids of nodes.
///
/// # Errors
/// Bad usage if it cannot be read.
pub fn from_csv(path: &Path) -> anyhow::Result<Vec<PhotoClass>> {
    let fail = |e: String| usage(format!("{}: {e}", path.display()));
    let text = read::text(path).map_err(|e| fail(e.to_string()))?;
    let mut classes: Vec<PhotoClass> = Vec::new();
    for row in csv::Reader::from_reader(text.as_bytes()).into_records() {
        let row = row.map_err(|e| fail(e.to_string()))?;
        let [photo, label, split] = [0, 1, 3].map(|at| row.get(at).unwrap_or_default());
        if classes.last().is_none_or(|class| class.label != label) {
            classes.push(PhotoClass {
                label: label.to_owned(),
                ..PhotoClass::default()
            });
        }
        if let Some(class) = classes.last_mut() {
            let part = match split {
                HELD_OUT => &mut class.held_out,
                _ => &mut class.train,
            };
            part.push(PathBuf::from(photo));
        }
    }
    Ok(classes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn folder(classes: &[(&str, usize)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, photos) in classes {
            std::fs::create_dir(dir.path().join(name)).unwrap();
            for at in 0..*photos {
                std::fs::write(dir.path().join(name).join(format!("{at:02}.jpg")), "x").unwrap();
            }
        }
        dir
    }

    #[test]
    fn a_share_of_each_class_is_set_aside_and_the_list_keeps_all() {
        let dir = folder(&[("a, b", 30), ("c", 3), ("d", 2)]);
        let classes = read(dir.path(), 0.2).unwrap();
        let counts = classes.iter().map(|c| (c.train.len(), c.held_out.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [(24, 6), (2, 1), (2, 0)]);
        assert!(classes[0].held_out[0].ends_with("a, b/04.jpg"));
        let list = dir.path().join("photos.csv");
        std::fs::write(
            &list,
            to_csv(&classes, |label| (label.into(), "x".into())).unwrap(),
        )
        .unwrap();
        assert_eq!(from_csv(&list).unwrap(), classes);
        let all = read(dir.path(), 0.0).unwrap();
        assert!(all.iter().all(|class| class.held_out.is_empty()));
    }

    #[test]
    fn folders_that_cannot_be_classes_are_refused_by_name() {
        let refused = |classes: &[(&str, usize)], share| {
            let dir = folder(classes);
            read(dir.path(), share).unwrap_err().to_string()
        };
        assert!(refused(&[("cat", 4)], 0.2).contains("only `cat`"));
        assert!(refused(&[("cat", 4), ("dog", 1)], 0.2).contains("found 1 in `dog`"));
        assert!(refused(&[("cat", 4), ("a|b", 4)], 0.2).contains("`a|b`"));
        assert!(refused(&[("cat", 4), ("dog", 4)], 0.9).contains("found 0.9"));
    }
}
