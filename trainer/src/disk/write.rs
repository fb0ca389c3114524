//! Atomic writing of files.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Writes a file atomically: either the complete file exists or none.
///
/// # Errors
/// If the folder is not writable.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    // Append the suffix to the full name, so that `a.svg` and `a.png` have separate temporary files.
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&tmp)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&tmp, path)
    };
    write().with_context(|| format!("writing {}", path.display()))
}
