//! What a format of data on disk declares about itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::records::error::Result;
use crate::records::source::Dataset;

/// Longest name of a label or of a rank in bytes. Every photo with the label has a copy of it.
pub const MAX_NAME: usize = 1000;

/// A format of data on disk.
#[derive(Debug)]
pub struct Format {
    /// Name in messages and in `docs/data.md`.
    pub name: &'static str,
    /// Whether its records have labels of images.
    pub labels: bool,
    /// Whether its records have boxes.
    pub boxes: bool,
    /// Returns whether the paths have this format. Looks at names and headers only.
    pub detect: fn(&[PathBuf]) -> bool,
    /// Opens the paths.
    ///
    /// # Errors
    /// [`crate::DataError`] that names the file and the problem.
    pub open: fn(&[PathBuf]) -> Result<Arc<dyn Dataset>>,
}

/// Returns whether there is one path and it passes `check`, for formats that take a single path.
pub fn is_single(paths: &[PathBuf], check: fn(&Path) -> bool) -> bool {
    matches!(paths, [one] if check(one))
}

/// Opens the first path with `open`, for formats that take a single path.
///
/// # Errors
/// Those of `open`.
pub fn open_single<D: Dataset + 'static>(
    paths: &[PathBuf],
    open: fn(&Path) -> Result<D>,
) -> Result<Arc<dyn Dataset>> {
    let path = paths.first().map_or(Path::new(""), PathBuf::as_path);
    Ok(Arc::new(open(path)?))
}
