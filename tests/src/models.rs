//! The two models in the repository, and which one a test should use.
//!
//! A test that expects particular labels, captions or concepts uses [`tiny`]: that model is small,
//! fast and does not change. A test of the model that visitors get uses [`shipped`]; it must also
//! hold for any good model that replaces it.

use std::path::{Path, PathBuf};

/// Returns the folder of the small model `tiny`: 64 x 64 pixels, 210 labels.
#[must_use]
pub fn tiny() -> PathBuf {
    folder("tiny")
}

/// Returns the folder of the model `default`, which the page loads if its address names no other.
#[must_use]
pub fn shipped() -> PathBuf {
    folder("default")
}

/// Returns the path of [`tiny`] as a command-line argument.
#[must_use]
pub fn tiny_path() -> String {
    tiny().to_string_lossy().into_owned()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../static/models")
        .join(name)
}
