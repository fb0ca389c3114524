//! Temporary files and folders: each is renamed to its final name when it is complete, and removed
//! if that never happens, so that a full disk or an interrupt leaves nothing behind.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// All temporary files and folders of this process that exist now.
static EXISTING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Number of attempts to remove a folder into which another thread still writes.
const ATTEMPTS: usize = 20;

fn existing() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    EXISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    removed.or_else(|e| match e.kind() {
        io::ErrorKind::NotFound => Ok(()),
        _ => Err(e),
    })
}

/// A temporary file or folder, removed when it is dropped before [`rename_to`](Self::rename_to).
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Reserves a path, which the caller then creates. What a killed process left there is removed.
    ///
    /// # Errors
    /// If what is there cannot be removed.
    pub fn new(path: PathBuf) -> io::Result<Self> {
        let mut existing = existing();
        remove(&path)?;
        existing.insert(path.clone());
        Ok(Self { path })
    }

    /// Returns the temporary path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the complete file or folder its final name.
    ///
    /// # Errors
    /// If it cannot be renamed; it is removed then.
    pub fn rename_to(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut existing = existing();
        // After a rename there is nothing to remove. An error here must not hide the first one.
        let _ = remove(&self.path);
        existing.remove(&self.path);
    }
}

/// Removes all temporary files and folders of this process and ends it. Other threads cannot create
/// new ones meanwhile.
pub fn remove_all_and_exit(code: i32) -> ! {
    remove_all_and(|| std::process::exit(code))
}

/// As [`remove_all_and_exit`], with another way to end the process.
pub fn remove_all_and(end: impl FnOnce() -> Infallible) -> ! {
    let existing = existing();
    for path in existing.iter() {
        for _ in 0..ATTEMPTS {
            if remove(path).is_ok() {
                break;
            }
        }
    }
    // The lock is held to the end, so that no other thread reports the missing file as an error.
    match end() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use espalier_fixtures::listing::names;

    #[test]
    fn what_is_not_renamed_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let names = || names(dir.path());
        let path = dir.path().join("a.tmp");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("left by a killed process"), "x").unwrap();
        let temporary = Temporary::new(path.clone()).unwrap();
        assert!(names().is_empty());
        fs::write(temporary.path(), "half").unwrap();
        drop(temporary);
        assert!(names().is_empty());

        let temporary = Temporary::new(path).unwrap();
        fs::write(temporary.path(), "whole").unwrap();
        temporary.rename_to(&dir.path().join("a")).unwrap();
        assert_eq!(names(), ["a"]);
        assert!(existing().iter().all(|p| !p.starts_with(dir.path())));
    }
}
