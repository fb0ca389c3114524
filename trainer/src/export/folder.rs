//! The folder of a bundle.
//!
//! A bundle is written into a hidden folder inside it and then moved, the manifest last. So a folder with a
//! manifest has all files of its bundle, its card and its image, even after a kill.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;

pub use espalier_checkpoints::published::card::CARD;
use espalier_io::disk::temporary::Temporary;
use espalier_io::exit::usage;

/// Name of the manifest: a folder that has one is complete.
pub const MANIFEST: &str = "manifest.json";

/// Name of the image that the card shows.
pub const PREVIEW: &str = "preview.png";

/// Name of the hidden folder.
const STAGED: &str = ".bundle.tmp";

/// Checks that a bundle may be written to a folder.
///
/// # Errors
/// Bad usage if it has a bundle already and `force` is off.
pub fn check_unused(folder: &Path, force: bool) -> anyhow::Result<()> {
    if folder.join(MANIFEST).exists() && !force {
        return Err(usage(format!(
            "--out {}: a bundle already exists; choose another folder or give --force",
            folder.display()
        )));
    }
    Ok(())
}

/// A bundle that is being written. Nothing of it is left if it is dropped before
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct StagedBundle {
    staged: Temporary,
    folder: PathBuf,
}

impl StagedBundle {
    /// Starts a bundle that will stand in `folder`.
    ///
    /// # Errors
    /// If the folder cannot be created or written to.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(STAGED);
        let start = || -> io::Result<Temporary> {
            fs::create_dir_all(folder)?;
            let staged = Temporary::new(path.clone())?;
            fs::create_dir(staged.path())?;
            Ok(staged)
        };
        Ok(Self {
            staged: start().with_context(|| format!("creating {}", path.display()))?,
            folder: folder.to_owned(),
        })
    }

    /// Returns the folder to write to.
    pub fn path(&self) -> &Path {
        self.staged.path()
    }

    /// Moves the files to their folder, where they replace those of an earlier bundle.
    ///
    /// # Errors
    /// If a file cannot be moved; the folder has no manifest then.
    pub fn finish(self) -> anyhow::Result<()> {
        // An earlier image must not stay, since the new bundle may have none.
        for name in [MANIFEST, PREVIEW] {
            let path = self.folder.join(name);
            match fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(e).with_context(|| format!("replacing {}", path.display()));
                }
                _ => {}
            }
        }
        let entries = fs::read_dir(self.path())?;
        let mut names = entries
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort_by_key(|name| name == OsStr::new(MANIFEST));
        for name in names {
            let target = self.folder.join(&name);
            fs::rename(self.path().join(&name), &target)
                .with_context(|| format!("writing {}", target.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use espalier_fixtures::listing::names;

    use super::*;

    fn stage(folder: &Path, files: &[&str]) -> StagedBundle {
        let staged = StagedBundle::new(folder).unwrap();
        for name in files {
            fs::write(staged.path().join(name), "new").unwrap();
        }
        staged
    }

    #[test]
    fn a_bundle_appears_when_it_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/bundle");
        check_unused(&folder, false).unwrap();
        let files = [MANIFEST, CARD, PREVIEW, "captions.json"];
        let staged = stage(&folder, &files);
        assert_eq!(names(&folder), [STAGED]);
        drop(staged);
        assert!(names(&folder).is_empty());

        stage(&folder, &files).finish().unwrap();
        assert_eq!(names(&folder), [CARD, "captions.json", MANIFEST, PREVIEW]);
        let refusal = check_unused(&folder, false).unwrap_err().to_string();
        assert!(refusal.contains("give --force"), "{refusal}");
        check_unused(&folder, true).unwrap();
    }

    #[test]
    fn an_earlier_bundle_is_replaced_with_its_image() {
        let dir = tempfile::tempdir().unwrap();
        for name in [MANIFEST, PREVIEW, CARD, "notes of a user.txt"] {
            fs::write(dir.path().join(name), "old").unwrap();
        }
        fs::create_dir(dir.path().join(STAGED)).unwrap();
        fs::write(dir.path().join(STAGED).join("killed.bin"), "old").unwrap();
        stage(dir.path(), &[MANIFEST, CARD]).finish().unwrap();
        assert_eq!(names(dir.path()), [CARD, MANIFEST, "notes of a user.txt"]);
        let content = |name| fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(
            (content(MANIFEST), content(CARD)),
            ("new".to_owned(), "new".to_owned())
        );
    }

    #[test]
    fn a_bundle_that_cannot_be_moved_has_no_manifest() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(MANIFEST), "old").unwrap();
        // A folder that is not empty is not replaced by a file.
        fs::create_dir_all(dir.path().join(CARD).join("below")).unwrap();
        let error = stage(dir.path(), &[MANIFEST, CARD]).finish().unwrap_err();
        assert!(error.to_string().contains(CARD), "{error}");
        assert_eq!(names(dir.path()), [CARD]);
    }
}
