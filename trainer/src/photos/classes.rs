//! The classes of a folder of photos, and the photos that are set aside.

use std::path::{Path, PathBuf};

use espalier_core::input::decode;
use espalier_data::Dataset;
use espalier_data::formats::folders::Folders;
use espalier_data::formats::levels::{self, Purpose};
use espalier_data::records::walk::{self, LeftOut};
use espalier_io::disk::read;
use espalier_io::exit::usage;
use rayon::prelude::*;

/// Default share of the photos of a class that is set aside.
pub const SHARE: f64 = 0.2;

/// Value of the column `split` for photos to train on.
pub const TRAIN: &str = "train";

/// Value of the column `split` for photos that are set aside to measure the model.
pub const HELD_OUT: &str = "held-out";

/// Rule for photos to measure with whose class has none to train on.
const NO_TRAINING: &str = "photo of a class without photos to train on";

/// Largest number of unreadable photos that are listed.
const LISTED: usize = 10;

/// Header of the list of photos.
const HEADER: [&str; 4] = ["filepath", "class", "common_name", "split"];

/// A folder of photos of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhotoClass {
    /// Name of the folder, which is the label of its photos.
    pub label: String,
    /// Name of the class, for people.
    pub name: String,
    /// Photos to train on.
    pub train: Vec<PathBuf>,
    /// Photos that are set aside.
    pub held_out: Vec<PathBuf>,
}

/// Class folders and what is left out of them.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The classes.
    pub classes: Vec<PhotoClass>,
    /// Entries that are no photos, by the rule that leaves them out.
    pub left_out: LeftOut,
    /// Photos that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

impl Listing {
    /// Takes the photos of a validation split as those that are set aside.
    fn add_held_out(&mut self, found: &Folders) {
        let images: Vec<(&str, &Path)> = found.images().collect();
        let faults = faults(&images);
        walk::merge(&mut self.left_out, found.left_out());
        for ((label, photo), fault) in images.into_iter().zip(faults) {
            let class = self.classes.iter_mut().find(|class| class.label == label);
            match (fault, class) {
                (Some(reason), _) => self.unreadable.push((photo.to_owned(), reason)),
                (None, Some(class)) => class.held_out.push(photo.to_owned()),
                (None, None) => walk::leave_out(&mut self.left_out, NO_TRAINING, 1, photo),
            }
        }
    }

    /// Describes what is left out, one line each; empty if nothing is.
    pub fn describe_left_out(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (rule, entries) in &self.left_out {
            lines.push(format!("left out, {}", entries.line(rule)));
        }
        for (photo, reason) in self.unreadable.iter().take(LISTED) {
            lines.push(format!("left out, {}: {reason}", photo.display()));
        }
        if self.unreadable.len() > LISTED {
            let more = self.unreadable.len() - LISTED;
            lines.push(format!("left out, {more} more photos that cannot be read"));
        }
        lines.join("\n")
    }
}

/// Lists the photos of each class folder and sets a share of each class aside: evenly spaced ones in the
/// order of file names, at least one of three or more photos. All photos are decoded; those that cannot be
/// read are left out, so that they are known before training.
///
/// # Errors
/// Bad usage for fewer than two classes, a class with a single readable photo, or a folder name that
/// cannot be a label.
pub fn read(folder: &Path, hold_out: f64) -> anyhow::Result<Listing> {
    if !(0.0..=0.5).contains(&hold_out) {
        return Err(usage(format!(
            "--hold-out: expected a share from 0 to 0.5, found {hold_out}"
        )));
    }
    let folder = std::path::absolute(folder)?;
    let part = |purpose| levels::roots(&folder, purpose);
    let training = part(Purpose::Training).unwrap_or_else(|| vec![folder.clone()]);
    let validation = part(Purpose::Evaluation).filter(|roots| *roots != training);
    let found = Folders::open(&training)?;
    let images: Vec<(&str, &Path)> = found.images().collect();
    let faults = faults(&images);
    let mut classes: Vec<PhotoClass> = Vec::new();
    let mut unreadable = Vec::new();
    for ((label, photo), fault) in images.into_iter().zip(faults) {
        if let Some(reason) = fault {
            unreadable.push((photo.to_owned(), reason));
            continue;
        }
        match classes.last_mut().filter(|class| class.label == label) {
            Some(class) => class.train.push(photo.to_owned()),
            None => classes.push(PhotoClass {
                label: label.to_owned(),
                name: name_of(label),
                train: vec![photo.to_owned()],
                held_out: Vec::new(),
            }),
        }
    }
    let place = folder.display();
    let mut listing = Listing {
        classes: Vec::new(),
        left_out: found.left_out(),
        unreadable,
    };
    let but = || match listing.describe_left_out() {
        text if text.is_empty() => text,
        text => format!("\n{text}"),
    };
    if classes.len() < 2 {
        let only = classes.first().map_or("none", |class| &*class.label);
        return Err(usage(format!(
            "{place}: expected a folder of photos for each of two or more classes, found only `{only}`{}",
            but()
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
                "{place}: expected at least 2 photos of each class, found 1 in `{label}`{}",
                but()
            )));
        }
        if validation.is_none() {
            set_aside(class, hold_out);
        }
    }
    listing.classes = classes;
    if let Some(roots) = validation {
        listing.add_held_out(&Folders::open(&roots)?);
    }
    Ok(listing)
}

/// Returns for each photo why it cannot be read; `None` if it can.
fn faults(images: &[(&str, &Path)]) -> Vec<Option<String>> {
    let fault = |(_, photo): &(&str, &Path)| match read::bytes(photo) {
        Ok(bytes) => decode(&bytes).err().map(|e| e.to_string()),
        Err(e) => Some(e.to_string()),
    };
    images.par_iter().map(fault).collect()
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

/// Returns the name of a class as it is shown: the name of its folder, with blanks.
pub fn name_of(label: &str) -> String {
    let text = label.replace(['_', '/'], " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
        let train = class.train.iter().map(|photo| (TRAIN, photo));
        let held_out = class.held_out.iter().map(|photo| (HELD_OUT, photo));
        for (split, photo) in train.chain(held_out) {
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
        let [photo, label, name, split] = [0, 1, 2, 3].map(|at| row.get(at).unwrap_or_default());
        if classes.last().is_none_or(|class| class.label != label) {
            classes.push(PhotoClass {
                label: label.to_owned(),
                name: name.to_owned(),
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
mod tests {
    use super::*;

    fn folder(classes: &[(&str, usize)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, photos) in classes {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
            for at in 0..*photos {
                let path = dir.path().join(name).join(format!("{at:02}.png"));
                image::RgbImage::new(4, 4).save(path).unwrap();
            }
        }
        dir
    }

    #[test]
    fn a_share_of_each_class_is_set_aside_and_the_list_keeps_all() {
        let dir = folder(&[("a, b", 30), ("c", 3), ("d", 2)]);
        let classes = read(dir.path(), 0.2).unwrap().classes;
        let counts = classes.iter().map(|c| (c.train.len(), c.held_out.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [(24, 6), (2, 1), (2, 0)]);
        assert!(classes[0].held_out[0].ends_with("a, b/04.png"));
        let list = dir.path().join("photos.csv");
        let csv = to_csv(&classes, |label| (label.into(), name_of(label)));
        std::fs::write(&list, csv.unwrap()).unwrap();
        assert_eq!(from_csv(&list).unwrap(), classes);
        let all = read(dir.path(), 0.0).unwrap().classes;
        assert!(all.iter().all(|class| class.held_out.is_empty()));
    }

    #[test]
    fn a_validation_split_is_what_is_set_aside() {
        let dir = folder(&[
            ("train/cat", 4),
            ("train/dog", 3),
            ("val/cat", 2),
            ("val/fox", 1),
        ]);
        let listing = read(dir.path(), 0.2).unwrap();
        let classes = listing.classes.iter();
        let counts = classes.map(|c| (&*c.label, c.train.len(), c.held_out.len()));
        assert_eq!(counts.collect::<Vec<_>>(), [("cat", 4, 2), ("dog", 3, 0)]);
        assert_eq!(listing.left_out[NO_TRAINING].count, 1);
    }

    #[test]
    fn what_cannot_be_read_is_left_out_and_named() {
        let dir = folder(&[("cat", 4), ("dog", 4), ("empty", 0)]);
        std::fs::write(dir.path().join("cat/99.jpg"), "<html>").unwrap();
        let listing = read(dir.path(), 0.2).unwrap();
        assert_eq!(listing.unreadable.len(), 1);
        let photos = |c: &PhotoClass| c.train.len() + c.held_out.len();
        assert_eq!(listing.classes.iter().map(photos).sum::<usize>(), 8);
        let text = listing.describe_left_out();
        assert!(text.contains("99.jpg") && text.contains("empty"), "{text}");
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
