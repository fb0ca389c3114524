//! The taxonomy of a model on the page itself: a few kilobytes, so that it can be walked before
//! anything heavy is fetched.

use espalier_core::bundle::Manifest;
use espalier_core::caption::files;
use espalier_core::taxonomy::Taxonomy;
use gloo_net::http::Request;

use crate::ui_error::UiError;

/// Fetches and reads the taxonomy of the model whose manifest lies at `manifest_url`.
///
/// # Errors
/// Which file is missing or not as it should be.
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
    // The hash in the address keeps a cache from answering with the file of an older model.
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
