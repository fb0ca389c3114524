//! A model's files: from the cache where they are kept, else from the server, checked either way.

use espalier_core::bundle::{BundleFile, BundleFiles, Manifest, sha256_hex};
use web_sys::RequestCache;

use super::PARTS;
use super::cache::Store;
use super::fetch::{Wanted, whole};
use crate::engine::protocol::{Progress, Stage};
use crate::ui_error::UiError;

/// A model in memory, every file checked.
#[derive(Debug)]
pub struct Bundle {
    /// The manifest as it came.
    pub manifest: Vec<u8>,
    /// SHA-256 of the manifest, hexadecimal.
    pub sha256: String,
    /// The files of [`PARTS`].
    pub files: BundleFiles,
}

/// Loads the model whose manifest lies at `manifest_url`; `report` is told of every step.
///
/// # Errors
/// What the visitor should know: which file is missing, cut short or damaged, or that the
/// connection broke.
pub async fn load(manifest_url: &str, mut report: impl FnMut(Progress)) -> Result<Bundle, UiError> {
    const NAME: &str = "manifest.json";
    let step = |stage, loaded, total, file: &str| Progress {
        stage,
        loaded,
        total,
        file: Some(file.to_owned()),
    };
    report(step(Stage::Manifest, 0, 0, NAME));
    // Asked for anew each time: it alone says which version of the other files is wanted.
    let cache = RequestCache::NoCache;
    let wanted = Wanted {
        url: manifest_url,
        name: NAME,
        bytes: 0,
        cache,
    };
    let bytes = whole(wanted, |_| ()).await?;
    let manifest =
        Manifest::parse(&bytes).map_err(|error| UiError::in_file(NAME, &error.to_string()))?;

    let base = folder(manifest_url);
    let store = Store::open().await;
    let total = manifest.bytes_of(&PARTS);
    let mut files = BundleFiles::default();
    let mut before = 0;
    for file in manifest.files_of(&PARTS) {
        report(step(Stage::Model, before, total, &file.path));
        let url = format!("{base}{}", file.path);
        let arrived = |held: u64| {
            // A file longer than it should be is refused later; the bar must not show it.
            let held = held.min(file.bytes);
            report(step(Stage::Model, before + held, total, &file.path));
        };
        one(&manifest, file, &url, &store, &mut files, arrived).await?;
        before += file.bytes;
        report(step(Stage::Model, before, total, &file.path));
    }
    let keep: Vec<_> = manifest
        .files
        .iter()
        .map(|file| (format!("{base}{}", file.path), file.sha256.clone()))
        .collect();
    store.sweep(base, &keep).await;
    Ok(Bundle {
        sha256: sha256_hex(&bytes),
        manifest: bytes,
        files,
    })
}

/// One file into `files`. A file that fails its check is fetched once more past the browser's HTTP
/// cache, which may still hold the file of an older model under the same name.
pub(super) async fn one(
    manifest: &Manifest,
    file: &BundleFile,
    url: &str,
    store: &Store,
    files: &mut BundleFiles,
    mut arrived: impl FnMut(u64),
) -> Result<(), UiError> {
    if let Some(kept) = store.get(url, &file.sha256).await {
        if files.insert_checked(manifest, &file.path, kept).is_ok() {
            return Ok(());
        }
        store.forget(url, &file.sha256).await;
    }
    let mut cache = RequestCache::Default;
    loop {
        let wanted = Wanted {
            url,
            name: &file.path,
            bytes: file.bytes,
            cache,
        };
        let bytes = whole(wanted, &mut arrived).await?;
        match files.insert_checked(manifest, &file.path, bytes) {
            Ok(()) => break,
            Err(_) if cache == RequestCache::Default => cache = RequestCache::Reload,
            Err(error) => return Err(UiError::from(&error)),
        }
    }
    if let Ok(bytes) = files.get(&file.path) {
        store.put(url, &file.sha256, bytes).await;
    }
    Ok(())
}

/// The address up to and with its last slash; a query part is left out.
pub(super) fn folder(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    path.rfind('/').map_or(path, |slash| &path[..=slash])
}
