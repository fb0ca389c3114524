//! The text tower of the model at work, fetched when a visitor first types.

use espalier_core::bundle::{BundleFiles, Part};

use super::bundle::Found;
use crate::ui_error::UiError;

/// The files of the text tower; `report` is told of bytes that have arrived and of all bytes.
///
/// # Errors
/// As for the other parts, and when the model has no text tower.
pub async fn load(found: &Found, mut report: impl FnMut(u64, u64)) -> Result<BundleFiles, UiError> {
    let total = found.manifest.bytes_of(&[Part::Text]);
    if total == 0 {
        return Err(UiError::no_text_tower());
    }
    let mut files = BundleFiles::default();
    let mut before = 0;
    for file in found.manifest.files_of(&[Part::Text]) {
        let arrived = |held: u64| report(before + held.min(file.bytes), total);
        let checked = found.file(file, arrived).await?;
        files.insert(checked).map_err(|e| UiError::from(&e))?;
        before += file.bytes;
        report(before, total);
    }
    Ok(files)
}
