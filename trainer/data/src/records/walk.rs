//! The walk over folders of every command: which entries are files of the user, which are those of other programs,
//! and which are images. Every entry is returned or counted.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use espalier_core::input::is_image;

use crate::records::coverage::{self, Cases};
use crate::records::error::{DataError, Result};

/// Rule for hidden entries.
pub const HIDDEN: &str = "hidden, or of another program";
/// Rule for links to folders that are read already, such as one that contains the link.
const LINK: &str = "link to a folder that is read already";
/// Rule for entries that are neither files nor folders.
const SPECIAL: &str = "neither a file nor a folder";
/// Rule for images to which an index, or the split of it that is read, gives no text, label or box.
pub const UNLISTED: &str = "image without a row in the index or its split";
/// Rule for rows of an index that refer to an image or a category that it does not list.
pub const DANGLING: &str = "row of an image or category that the index does not list";
/// Rule for files that are no images.
pub const NO_IMAGE: &str = "not an image";

/// Names of files and folders, in lower case, that other programs leave in folders of photos.
const OF_OTHERS: [&str; 8] = [
    "@eadir",
    "__macosx",
    "#recycle",
    "$recycle.bin",
    "lost+found",
    "thumbs.db",
    "ehthumbs.db",
    "desktop.ini",
];

/// Extensions of images. The content of other files decides.
pub const EXTENSIONS: [&str; 25] = [
    "jpg", "jpeg", "jpe", "jfif", "png", "webp", "bmp", "gif", "tif", "tiff", "heic", "heif",
    "avif", "jxl", "jp2", "ppm", "pgm", "tga", "psd", "dng", "cr2", "cr3", "nef", "arw", "raf",
];

/// Extensions of files that lie beside images and are none; their content need not be read.
const OTHERS: [&str; 16] = [
    "txt",
    "caption",
    "json",
    "jsonl",
    "csv",
    "tsv",
    "md",
    "xml",
    "yaml",
    "yml",
    "tar",
    "parquet",
    "npz",
    "npy",
    "zip",
    "safetensors",
];

/// Bytes that tell the format of a file.
const HEAD: u64 = 4096;

/// Entries that are left out, by rule.
pub type LeftOut = BTreeMap<String, Cases>;

/// The entries of a folder, sorted.
#[derive(Debug, Default)]
pub struct Entries {
    /// Folders in it, also those that links lead to.
    pub folders: Vec<PathBuf>,
    /// Files in it.
    pub files: Vec<PathBuf>,
    /// The other entries, by rule.
    pub left_out: LeftOut,
}

/// The files below a folder, sorted.
#[derive(Debug, Default)]
pub struct Found {
    /// Files.
    pub files: Vec<PathBuf>,
    /// The other entries, by rule.
    pub left_out: LeftOut,
}

/// Counts entries that are left out.
pub fn leave_out(to: &mut LeftOut, rule: &str, count: u64, example: &Path) {
    coverage::add(to, rule, count, &shown(example));
}

/// Adds the counts of another walk.
pub fn merge(to: &mut LeftOut, other: LeftOut) {
    for (rule, Cases { count, example }) in other {
        coverage::add(to, &rule, count, &example);
    }
}

/// Returns a path for messages and keys. Bytes that are not UTF-8 are written `\xff`, so that two names never
/// look the same.
pub fn shown(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Returns the last part of a path, whose folders may be written as on Windows.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns whether a file or folder of this name is hidden or belongs to another program.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || OF_OTHERS.contains(&name.to_lowercase().as_str())
}

/// Lists a folder.
///
/// # Errors
/// If it cannot be read.
pub fn entries(folder: &Path) -> Result<Entries> {
    let list = fs::read_dir(folder).map_err(DataError::io(folder))?;
    let paths = list.map(|entry| entry.map(|e| e.path()));
    let mut paths: Vec<PathBuf> = paths
        .collect::<std::io::Result<_>>()
        .map_err(DataError::io(folder))?;
    paths.sort();
    let mut found = Entries::default();
    for path in paths {
        let name = path.file_name().unwrap_or_default();
        if is_hidden(&name.to_string_lossy()) {
            leave_out(&mut found.left_out, HIDDEN, count(&path), &path);
        } else if path.is_dir() {
            found.folders.push(path);
        } else if path.is_file() {
            found.files.push(path);
        } else {
            leave_out(&mut found.left_out, SPECIAL, 1, &path);
        }
    }
    Ok(found)
}

/// Lists all files of a folder and of the folders below it, also of those that links lead to; each folder once.
///
/// # Errors
/// If a folder cannot be read.
pub fn files_below(folder: &Path) -> Result<Found> {
    let mut found = Found::default();
    let mut seen = HashSet::new();
    // Folders first: a link to one of them adds nothing.
    let mut links = VecDeque::from([folder.to_owned()]);
    while let Some(top) = links.pop_front() {
        let place = fs::canonicalize(&top).map_err(DataError::io(&top))?;
        let mut pending = vec![(top, place)];
        while let Some((current, place)) = pending.pop() {
            if !seen.insert(place.clone()) {
                leave_out(&mut found.left_out, LINK, 1, &current);
                continue;
            }
            let here = entries(&current)?;
            found.files.extend(here.files);
            merge(&mut found.left_out, here.left_out);
            for below in here.folders {
                match below.is_symlink() {
                    true => links.push_back(below),
                    false => {
                        let place = place.join(below.file_name().unwrap_or_default());
                        pending.push((below, place));
                    }
                }
            }
        }
    }
    found.files.sort();
    Ok(found)
}

/// Lists all images of a folder and of the folders below it.
///
/// # Errors
/// As [`files_below`].
pub fn images_below(folder: &Path) -> Result<Found> {
    let mut found = files_below(folder)?;
    found.files = only_images(found.files, &mut found.left_out);
    Ok(found)
}

/// Returns the images of a list; counts the others.
pub fn only_images(files: Vec<PathBuf>, left_out: &mut LeftOut) -> Vec<PathBuf> {
    let mut images = Vec::with_capacity(files.len());
    for file in files {
        match is_image_file(&file) {
            true => images.push(file),
            false => leave_out(left_out, NO_IMAGE, 1, &file),
        }
    }
    images
}

/// Returns the number of files that an entry is or contains.
fn count(path: &Path) -> u64 {
    if !path.is_dir() || path.is_symlink() {
        return 1;
    }
    let Ok(list) = fs::read_dir(path) else {
        return 1;
    };
    list.flatten().map(|entry| count(&entry.path())).sum()
}

/// Returns whether a file is an image: by its extension, or else by its content.
pub fn is_image_file(path: &Path) -> bool {
    let extension = path
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    let is_one_of = |known: &[&str]| {
        known
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    };
    if is_one_of(&EXTENSIONS) || is_one_of(&OTHERS) {
        return is_one_of(&EXTENSIONS);
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && is_image(&head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::folder;

    const PNG: &[u8] = &[0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0];

    #[test]
    fn every_entry_is_an_image_or_counted() {
        let files: [(&str, &[u8]); 12] = [
            ("a/1.JPG", b"x"),
            ("a/2.jfif", b"x"),
            ("a/3", PNG),
            ("a/4.jpg?w=800", PNG),
            ("a/5.heic", b"x"),
            ("a/note.txt", b"hello"),
            ("a/._1.jpg", b"x"),
            ("a/Thumbs.db", b"x"),
            ("a/@eaDir/1.jpg", PNG),
            ("a/@eaDir/2.jpg", PNG),
            (".ipynb_checkpoints/1.jpg", PNG),
            ("__MACOSX/a/._1.jpg", b"x"),
        ];
        let dir = folder(&files);
        let found = images_below(dir.path()).unwrap();
        let images = ["1.JPG", "2.jfif", "3", "4.jpg?w=800", "5.heic"];
        let images = images.map(|name| dir.path().join("a").join(name));
        assert_eq!(found.files, images);
        assert_eq!(found.left_out[HIDDEN].count, 6);
        assert_eq!(found.left_out[NO_IMAGE].count, 1);
        assert!(found.left_out[NO_IMAGE].example.ends_with("note.txt"));
        let counted: u64 = found.left_out.values().map(|m| m.count).sum();
        assert_eq!(found.files.len() as u64 + counted, files.len() as u64);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_twice_and_odd_names_stay_apart() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let dir = folder(&[("a/1.png", PNG)]);
        let link = |to: &Path, name: &str| {
            std::os::unix::fs::symlink(to, dir.path().join(name)).unwrap();
        };
        link(dir.path(), "a/loop");
        link(&dir.path().join("a"), "again");
        let other = folder(&[("b/2.png", PNG)]);
        link(other.path(), "elsewhere");
        let found = images_below(dir.path()).unwrap();
        assert_eq!((found.files.len(), found.left_out[LINK].count), (2, 2));
        assert!(found.files[1].ends_with("elsewhere/b/2.png"));
        let name = |bytes: &'static [u8]| shown(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(name(b"caf\xe9"), "caf\\xe9");
        assert_ne!(name(b"caf\xe9"), name(b"caf\xe8"));
    }
}
