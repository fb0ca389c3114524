//! Folders of photos, each with its captions in a text file of the same name: one caption a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;

use super::images::Captioned;
use crate::formats::open_images::files;
use crate::records::error::{DataError, Result};
use crate::records::walk::is_picture;

/// Extensions of text files beside photos.
const TEXTS: [&str; 2] = ["txt", "caption"];

/// Returns the text file of a photo among the files of its folder.
fn text_of(picture: &Path, all: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let candidates = TEXTS
        .iter()
        .map(|extension| picture.with_extension(extension));
    candidates.into_iter().find(|file| all.contains(file))
}

/// Returns whether a photo among these files has a text file.
pub(super) fn matches(all: Vec<PathBuf>) -> bool {
    let all: BTreeSet<PathBuf> = all.into_iter().collect();
    let mut pictures = all.iter().filter(|file| is_picture(file));
    pictures.any(|picture| text_of(picture, &all).is_some())
}

/// Reads all photos below a folder.
pub(super) fn read(folder: &Path, into: &mut Captioned) -> Result<()> {
    let all: BTreeSet<PathBuf> = files(folder)?.into_iter().collect();
    for file in all.iter().filter(|file| is_picture(file)) {
        let name = file.strip_prefix(folder).unwrap_or(file);
        let picture = into.add_file(name.display().to_string(), Some(file.clone()));
        let captions = match text_of(file, &all) {
            Some(text) => read::text(&text).map_err(DataError::io(&text))?,
            None => String::new(),
        };
        into.add_captions(picture, captions.lines().map(str::to_owned));
    }
    Ok(())
}
