//! Loads a model's taxonomy in the page itself. It is a few kilobytes, so it can be browsed before
//! anything large is fetched.

use espalier_core::bundle::{BundleFiles, Manifest};
use espalier_core::caption::{files, lexicon};
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use gloo_net::http::Request;

use super::bundle::folder;
use crate::ui_error::UiError;

/// Fetches and reads the taxonomy of the model whose manifest lies at `manifest_url`.
///
/// # Errors
/// When a file is missing or invalid; the error names it.
pub async fn load(manifest_url: &str) -> Result<Taxonomy, UiError> {
    let manifest = manifest(manifest_url).await?;
    let file = file(manifest_url, &manifest, files::TAXONOMY).await?;
    let text = file
        .text(files::TAXONOMY)
        .map_err(|error| UiError::from(&error))?;
    Taxonomy::from_tsv(text).map_err(|error| UiError::in_file(files::TAXONOMY, &error.to_string()))
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
    lexicon(&manifest, &file).map_err(|error| UiError::from(&error))
}

async fn manifest(url: &str) -> Result<Manifest, UiError> {
    let manifest = bytes(url, "manifest.json").await?;
    Manifest::parse(&manifest)
        .map_err(|error| UiError::in_file("manifest.json", &error.to_string()))
}

/// Fetches and checks one file of the model whose manifest lies at `manifest_url`.
async fn file(manifest_url: &str, manifest: &Manifest, path: &str) -> Result<BundleFiles, UiError> {
    let file = manifest.file(path).map_err(|error| UiError::from(&error))?;
    // The hash in the address prevents a cache from returning the file of an older model.
    let url = format!("{}{path}?sha256={}", folder(manifest_url), file.sha256);
    let mut files = BundleFiles::default();
    let content = bytes(&url, path).await?;
    files
        .insert_checked(manifest, path, content)
        .map_err(|error| UiError::from(&error))?;
    Ok(files)
}

async fn bytes(url: &str, name: &str) -> Result<Vec<u8>, UiError> {
    let response = Request::get(url).send().await;
    let response = response.map_err(|error| UiError::network(name, error.to_string()))?;
    if !response.ok() {
        return Err(UiError::missing_file(name, response.status()));
    }
    let bytes = response.binary().await;
    bytes.map_err(|error| UiError::network(name, error.to_string()))
}
