//! Atomic writing of files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::temporary::Temporary;
use crate::exit::usage;

/// Returns the name under which a file is written until it is complete. The suffix follows the full
/// name, so that `a.svg` and `a.png` have separate temporary files.
pub fn temporary_name(path: &Path) -> PathBuf {
    path.with_added_extension("tmp")
}

/// Writes a file atomically: either the complete file exists or none.
///
/// # Errors
/// If the folder is not writable or the disk is full; nothing is left behind then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || -> io::Result<()> {
        let tmp = Temporary::new(temporary_name(path))?;
        let mut file = File::create(tmp.path())?;
        file.write_all(bytes)?;
        file.sync_all()?;
        tmp.rename_to(path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Creates a folder if needed and checks that files can be written into it, so that a long
/// computation does not end at a folder that refuses its result. `flag` names the folder in the
/// error.
///
/// # Errors
/// Bad usage when the folder cannot be created or written to.
pub fn check_writable(flag: &str, folder: &Path) -> anyhow::Result<()> {
    let fail = |e: io::Error| {
        usage(format!(
            "{flag} {}: expected a folder that can be written to, found one that cannot: {e}",
            folder.display()
        ))
    };
    // Only the folders that this check creates are removed again.
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|f| !f.as_os_str().is_empty() && !f.exists())
        .collect();
    fs::create_dir_all(folder).map_err(fail)?;
    let probe = folder.join(format!(".espalier-{}.tmp", std::process::id()));
    let tried = Temporary::new(probe).and_then(|probe| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).open(probe.path())
    });
    for folder in missing {
        // A folder into which another process has written since then stays.
        let _ = fs::remove_dir(folder);
    }
    tried.map(drop).map_err(fail)
}

/// As [`check_writable`], for a file: its folder must exist.
///
/// # Errors
/// Bad usage when the folder does not exist or cannot be written to.
pub fn check_file(flag: &str, file: &Path) -> anyhow::Result<()> {
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(usage(format!(
            "{flag} {}: expected a file in an existing folder, found no folder {}",
            file.display(),
            folder.display()
        )));
    }
    check_writable(flag, folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Usage;

    #[test]
    fn a_write_that_fails_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        // A folder of the target's name lets the rename fail, after the bytes are written.
        let target = dir.path().join("a.svg");
        fs::create_dir(&target).unwrap();
        assert!(write_atomic(&target, b"bytes").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_below_a_file_is_refused_and_a_check_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        let error = check_writable("--out", &dir.path().join("file/below")).unwrap_err();
        assert!(error.to_string().starts_with("--out "), "{error}");
        assert!(error.is::<Usage>());
        check_writable("--out", &dir.path().join("a/b")).unwrap();
        assert!(!dir.path().join("a").exists());
        let error = check_file("--out", &dir.path().join("a/b.svg")).unwrap_err();
        assert!(error.to_string().contains("existing folder"), "{error}");
        check_file("--out", &dir.path().join("b.svg")).unwrap();
    }
}
