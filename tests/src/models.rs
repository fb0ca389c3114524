//! The two models in the repository, and which of them a test should use.
//!
//! A test that expects particular labels, captions or concepts uses [`tiny`]: that model is small,
//! fast and does not change. A test of the model that visitors get uses [`shipped`], and must hold
//! for every good model that may replace it.

use std::path::{Path, PathBuf};

/// Folder of the small model `tiny`: 64 x 64 pixels, 210 labels.
#[must_use]
pub fn tiny() -> PathBuf {
    folder("tiny")
}

/// Folder of the model `default`, which the page loads where its address names no other.
#[must_use]
pub fn shipped() -> PathBuf {
    folder("default")
}

/// [`tiny`] as a command line takes it.
#[must_use]
pub fn tiny_path() -> String {
    tiny().to_string_lossy().into_owned()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../static/models")
        .join(name)
}
