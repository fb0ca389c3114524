//! Folders of photos, each with its captions in a text file of the same name: one caption a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;

use super::images::Captioned;
use crate::formats::caption_texts::EXTENSIONS;
use crate::records::error::Result;
use crate::records::walk::{self, NO_IMAGE, is_image_file};

/// Returns the text file of a photo among the files of its folder.
fn text_of(image: &Path, all: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut candidates = EXTENSIONS.iter().map(|e| image.with_extension(e));
    candidates.find(|file| all.contains(file))
}

/// Returns whether a photo among these files has a text file.
pub(super) fn matches(all: Vec<PathBuf>) -> bool {
    let all: BTreeSet<PathBuf> = all.into_iter().collect();
    let mut images = all.iter().filter(|file| is_image_file(file));
    images.any(|image| text_of(image, &all).is_some())
}

/// Reads all photos below a folder.
pub(super) fn read(folder: &Path, into: &mut Captioned) -> Result<()> {
    let found = walk::files_below(folder)?;
    into.left_out = found.left_out;
    let all: BTreeSet<PathBuf> = found.files.into_iter().collect();
    let mut others = all.clone();
    for file in all.iter().filter(|file| is_image_file(file)) {
        others.remove(file);
        let name = walk::shown(file.strip_prefix(folder).unwrap_or(file));
        let text = text_of(file, &all);
        let captions = text.as_ref().map_or(Ok(String::new()), read::text);
        if let Some(text) = &text {
            others.remove(text);
        }
        if let Err(e) = &captions {
            into.coverage
                .note("text that cannot be read", 1, &format!("{name}: {e}"));
        }
        let image = into.add_file(name, Some(file.clone()));
        let captions = captions.unwrap_or_default();
        into.add_captions(image, captions.lines().map(str::to_owned));
    }
    for file in others {
        walk::leave_out(&mut into.left_out, NO_IMAGE, 1, &file);
    }
    Ok(())
}
