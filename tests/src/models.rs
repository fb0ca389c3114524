//! The two models in the repository, and which one a test should use.
//!
//! A test that expects particular labels, captions or concepts uses [`tiny`]: that model is small,
//! fast and does not change. A test of the model that visitors get uses [`shipped`]; it must also
//! hold for any good model that replaces it.

use std::path::{Path, PathBuf};

use espalier_core::bundle::{BundleFiles, Manifest, Part};
use espalier_core::caption::{Captioner, Engine};

/// The parts that the page fetches for a photo.
pub const PARTS: [Part; 4] = [Part::Image, Part::Captions, Part::Taxonomy, Part::Selftest];

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

/// Opens a bundle, without its text encoder, on an engine.
///
/// # Panics
/// When it cannot be opened.
#[must_use]
pub fn captioner(bundle: &Path, engine: &Engine) -> Captioner {
    let read = |path: &str| {
        let path = bundle.join(path);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let bytes = read("manifest.json");
    let manifest = Manifest::parse(&bytes).unwrap_or_else(|e| panic!("{e}"));
    let mut files = BundleFiles::default();
    for file in manifest.files_of(&PARTS) {
        let added = files.insert_checked(&manifest, &file.path, read(&file.path));
        added.unwrap_or_else(|e| panic!("{e}"));
    }
    Captioner::open(&bytes, &files, engine).unwrap_or_else(|e| panic!("{e}"))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../static/models")
        .join(name)
}
