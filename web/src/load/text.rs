//! Loads the text encoder of the current model when a visitor first types.

use espalier_core::bundle::{BundleFiles, Part};

use super::bundle::RemoteModel;
use crate::ui_error::UiError;

/// Fetches the files of the text encoder. `report` receives the bytes that have arrived and the
/// total.
///
/// # Errors
/// When a file cannot be loaded, or the model has no text encoder.
pub async fn load(
    model: &RemoteModel,
    mut report: impl FnMut(u64, u64),
) -> Result<BundleFiles, UiError> {
    let total = model.manifest.bytes_of(&[Part::Text]);
    if total == 0 {
        return Err(UiError::no_text_encoder());
    }
    let mut files = BundleFiles::default();
    let mut before = 0;
    for file in model.manifest.files_of(&[Part::Text]) {
        let arrived = |received: u64| report(before + received.min(file.bytes), total);
        let checked = model.file(file, arrived).await?;
        files.insert(checked)?;
        before += file.bytes;
        report(before, total);
    }
    Ok(files)
}
