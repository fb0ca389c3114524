//! Loads a model's taxonomy in the page itself. It is a few kilobytes, so it can be browsed before
//! anything large is fetched.

use espalier_core::bundle::Manifest;
use espalier_core::caption::files;
use espalier_core::taxonomy::Taxonomy;
use gloo_net::http::Request;

use crate::ui_error::UiError;

/// Fetches and reads the taxonomy of the model whose manifest lies at `manifest_url`.
///
/// # Errors
/// When a file is missing or invalid; the error names it.
pub async fn load(manifest_url: &str) -> Result<Taxonomy, UiError> {
    let manifest = bytes(manifest_url, "manifest.json").await?;
    let manifest = Manifest::parse(&manifest)
        .map_err(|error| UiError::in_file("manifest.json", &error.to_string()))?;
    let file = manifest
        .file(files::TAXONOMY)
        .map_err(|error| UiError::from(&error))?;
    let folder = manifest_url
        .rfind('/')
        .map_or("", |at| &manifest_url[..=at]);
    // The hash in the address prevents a cache from returning the file of an older model.
    let url = format!("{folder}{}?sha256={}", file.path, file.sha256);
    let text = String::from_utf8(bytes(&url, &file.path).await?)
        .map_err(|error| UiError::in_file(&file.path, &error.to_string()))?;
    Taxonomy::from_tsv(&text).map_err(|error| UiError::in_file(&file.path, &error.to_string()))
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
