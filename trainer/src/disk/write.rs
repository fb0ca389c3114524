//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Write a file whole or not at all.
///
/// # Errors
/// When the folder cannot be written to.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    // Behind the whole name, so that `a.svg` and `a.png` do not share one.
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
