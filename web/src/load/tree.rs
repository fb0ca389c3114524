//! Loads a model's taxonomy in the page itself. It is a few kilobytes, so it can be browsed before
//! anything large is fetched.

use espalier_core::bundle::{BundleFiles, Manifest};
use espalier_core::caption::{files, lexicon};
use espalier_core::taxonomy::{Lexicon, Taxonomy};

use super::bundle::folder;
use super::fetch::fetch_small;
use crate::ui_error::UiError;

/// Fetches and reads the taxonomy of the model whose manifest lies at `manifest_url`.
///
/// # Errors
/// When a file is missing or invalid; the error names it.
pub async fn load(manifest_url: &str) -> Result<Taxonomy, UiError> {
    let manifest = manifest(manifest_url).await?;
    let file = file(manifest_url, &manifest, files::TAXONOMY).await?;
    let tree = Taxonomy::from_tsv(file.text(files::TAXONOMY)?);
    tree.map_err(|error| UiError::in_file(files::TAXONOMY, error.to_string()))
}

/// Fetches and reads the nouns that name no node of the taxonomy; empty if the model has none.
///
/// # Errors
/// When a file is missing or invalid; the error names it.
pub async fn load_nouns(manifest_url: &str) -> Result<Lexicon, UiError> {
    let manifest = manifest(manifest_url).await?;
    if manifest.file(files::NOUNS).is_err() {
        return Ok(Lexicon::default());
    }
    let file = file(manifest_url, &manifest, files::NOUNS).await?;
    Ok(lexicon(&manifest, &file)?)
}

async fn manifest(url: &str) -> Result<Manifest, UiError> {
    let manifest = fetch_small(url, "manifest.json").await?;
    Manifest::parse(&manifest).map_err(|error| UiError::in_file("manifest.json", error.to_string()))
}

/// Fetches and checks one file of the model whose manifest lies at `manifest_url`.
async fn file(manifest_url: &str, manifest: &Manifest, path: &str) -> Result<BundleFiles, UiError> {
    let file = manifest.file(path)?;
    // The hash in the address prevents a cache from returning the file of an older model.
    let url = format!("{}{path}?sha256={}", folder(manifest_url), file.sha256);
    let content = fetch_small(&url, path).await?;
    let mut files = BundleFiles::default();
    files.insert_checked(manifest, path, content)?;
    Ok(files)
}
