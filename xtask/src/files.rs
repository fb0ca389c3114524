//! Files and folders, listed and copied.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the files and folders in a folder, in the order of their paths.
///
/// # Errors
/// Fails if it cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        found.push(entry?.path());
    }
    found.sort();
    Ok(found)
}

/// Returns the files in a folder and in those below it, in the order of their paths.
///
/// # Errors
/// Fails if a folder cannot be read.
pub fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() {
            found.extend(below(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the name of a file from a folder on, with `/` on every system.
pub fn name_from(folder: &Path, file: &Path) -> String {
    let name = file.strip_prefix(folder).unwrap_or(file);
    name.to_string_lossy().replace('\\', "/")
}

/// Copies a folder with all that is in it; what `to` already holds under other names stays.
///
/// # Errors
/// Fails if something cannot be read or written.
pub fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_folders_are_copied_and_listed_and_other_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::create_dir_all(from.join("a/b")).unwrap();
        std::fs::create_dir_all(&to).unwrap();
        std::fs::write(from.join("a/b/c.txt"), "c").unwrap();
        std::fs::write(to.join("old.txt"), "old").unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("a/b/c.txt")).unwrap(), "c");
        assert_eq!(std::fs::read_to_string(to.join("old.txt")).unwrap(), "old");
        let listed = below(&to).unwrap();
        let listed: Vec<String> = listed.iter().map(|file| name_from(&to, file)).collect();
        assert_eq!(listed, ["a/b/c.txt", "old.txt"]);
    }
}
