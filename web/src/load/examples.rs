//! Example photos of labels, one a label, fetched only when a visitor asks for them.

use std::collections::HashMap;

use serde::Deserialize;

use super::fetch::fetch_small;
use crate::ui_error::UiError;

/// Name of the list, in messages.
const LIST: &str = "examples/credits.json";

/// Who made an example photo, under CC BY 2.0.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Credit {
    /// Name of the author.
    pub author: String,
    /// Address of the whole photo.
    pub url: String,
}

/// Returns the address of the example photo of a label below the page's folder.
pub fn photo_of(base: &str, label: &str) -> String {
    format!("{base}examples/{label}.webp")
}

/// Fetches the labels that have an example photo, with its credit.
///
/// # Errors
/// When the list is missing or cannot be read.
pub async fn load(base: &str) -> Result<HashMap<String, Credit>, UiError> {
    let list = fetch_small(&format!("{base}{LIST}"), LIST).await?;
    serde_json::from_slice(&list).map_err(|error| UiError::in_file(LIST, error.to_string()))
}
