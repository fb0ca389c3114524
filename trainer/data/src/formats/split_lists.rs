//! Published lists of the images of a split, one per line.

use std::path::{Path, PathBuf};

/// A split given as a list of images, one per line.
pub(crate) struct List {
    /// Path of the list; `{}` is replaced by the split.
    file: &'static str,
    /// The list's own names of the splits `train`, `val` and `test`.
    splits: [&'static str; 3],
    /// Folder of the images.
    pub(crate) images: &'static str,
    /// Parses a line into the path of the image below this folder, and its label.
    pub(crate) row: fn(&str) -> Option<(String, String)>,
}

const SPLITS: [&str; 3] = ["train", "val", "test"];

/// All datasets of this kind.
pub(crate) const LISTS: [List; 5] = [
    // Food-101: `apple_pie/1011328`.
    List {
        file: "meta/{}.txt",
        splits: SPLITS,
        images: "images",
        row: |line| {
            let (label, _) = line.split_once('/')?;
            Some((format!("{line}.jpg"), label.to_owned()))
        },
    },
    // FGVC-Aircraft: `1514522 707-320`; a slash of a variant is no rank.
    List {
        file: "images_variant_{}.txt",
        splits: SPLITS,
        images: "images",
        row: |line| {
            let (id, variant) = line.split_once(' ')?;
            Some((format!("{id}.jpg"), variant.trim().replace('/', "-")))
        },
    },
    // DTD, its first partition: `banded/banded_0002.jpg`.
    List {
        file: "labels/{}1.txt",
        splits: SPLITS,
        images: "images",
        row: |line| {
            let (label, _) = line.split_once('/')?;
            Some((line.to_owned(), label.to_owned()))
        },
    },
    // Oxford pets: `great_pyrenees_12 60 2 20`.
    List {
        file: "annotations/{}.txt",
        splits: ["trainval", "trainval", "test"],
        images: "images",
        row: |line| {
            let name = line.split(' ').next()?;
            let (label, _) = name.rsplit_once('_')?;
            Some((format!("{name}.jpg"), label.to_owned()))
        },
    },
    // SUN397, its first partition: `/c/control_tower/outdoor/sun_aaa.jpg`.
    List {
        file: "{}_01.txt",
        splits: ["Training", "Training", "Testing"],
        images: ".",
        row: |line| {
            let path = line.trim_start_matches('/');
            let (folder, _) = path.rsplit_once('/')?;
            let (_, label) = folder.split_once('/')?;
            Some((path.to_owned(), label.replace('/', "_")))
        },
    },
];

impl List {
    /// Returns the path of the list in a folder.
    pub(crate) fn path(&self, folder: &Path, split: &str) -> PathBuf {
        let at = SPLITS.iter().position(|known| *known == split);
        let name = at.map_or(split, |at| self.splits[at]);
        folder.join(self.file.replace("{}", name))
    }
}
