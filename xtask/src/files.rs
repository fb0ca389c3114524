//! Files and folders, copied.

use std::io;
use std::path::Path;

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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn folders_in_folders_are_copied_and_other_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        std::fs::create_dir_all(from.join("a/b")).unwrap();
        std::fs::create_dir_all(&to).unwrap();
        std::fs::write(from.join("a/b/c.txt"), "c").unwrap();
        std::fs::write(to.join("old.txt"), "old").unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(std::fs::read_to_string(to.join("a/b/c.txt")).unwrap(), "c");
        assert_eq!(std::fs::read_to_string(to.join("old.txt")).unwrap(), "old");
    }
}
