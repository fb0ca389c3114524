//! Size of a file as a static host sends it: texts and programs after gzip, weights as they are,
//! since hosts compress by file type and weights have no known type.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};

/// Returns the size of a file after gzip, in bytes.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn compressed_size(path: &Path) -> Result<u64> {
    let bytes = fs::read(path).with_context(|| {
        format!(
            "{} is missing: run `cargo xtask build-web --release`",
            path.display()
        )
    })?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&bytes)?;
    Ok(encoder.finish()?.len() as u64)
}

/// Returns the transfer size of a file in bytes.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn transfer_size(path: &Path) -> Result<u64> {
    let compressed_types = [
        "css", "html", "js", "json", "md", "svg", "tsv", "txt", "wasm",
    ];
    let is_text = path
        .extension()
        .is_some_and(|e| compressed_types.contains(&e.to_string_lossy().as_ref()));
    if is_text {
        compressed_size(path)
    } else {
        Ok(fs::metadata(path)?.len())
    }
}
