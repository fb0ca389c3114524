//! The text tower of the model at work, fetched when a visitor first types.

use espalier_core::bundle::{BundleFiles, Manifest, Part, sha256_hex};
use web_sys::RequestCache;

use super::bundle::{folder, one};
use super::cache::Store;
use super::fetch::{Wanted, whole};
use crate::ui_error::UiError;

/// The manifest and the files of the text tower. `sha256` is the hash of the manifest that the
/// model at work was loaded with; `report` is told of bytes that have arrived and of all bytes.
///
/// # Errors
/// As for the other parts, and when the model on the server is another one by now.
pub async fn load(
    manifest_url: &str,
    sha256: &str,
    mut report: impl FnMut(u64, u64),
) -> Result<(Manifest, BundleFiles), UiError> {
    const NAME: &str = "manifest.json";
    let wanted = Wanted {
        url: manifest_url,
        name: NAME,
        bytes: 0,
        cache: RequestCache::Default,
    };
    let bytes = whole(wanted, |_| ()).await?;
    let found = sha256_hex(&bytes);
    if found != sha256 {
        return Err(UiError::in_file(
            NAME,
            &format!("expected the model {sha256}, found {found}"),
        ));
    }
    let manifest = Manifest::parse(&bytes).map_err(|e| UiError::in_file(NAME, &e.to_string()))?;
    let total = manifest.bytes_of(&[Part::Text]);
    if total == 0 {
        return Err(UiError::no_text_tower());
    }
    let base = folder(manifest_url);
    let store = Store::open().await;
    let mut files = BundleFiles::default();
    let mut before = 0;
    for file in manifest.files_of(&[Part::Text]) {
        let url = format!("{base}{}", file.path);
        let arrived = |held: u64| report(before + held.min(file.bytes), total);
        one(&manifest, file, &url, &store, &mut files, arrived).await?;
        before += file.bytes;
        report(before, total);
    }
    Ok((manifest, files))
}
