//! The widget's npm package, packed from the built page as a release packs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::site::{self, DEFAULT};
use crate::models::tiny;

/// Unpacks the package into a folder, as `npm install` does.
///
/// # Panics
/// When the page has not been built, npm is missing, or the package cannot be unpacked.
pub fn unpack(folder: &Path) {
    fs::create_dir_all(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let unpacked = Command::new("tar")
        .args(["xzf", &archive().to_string_lossy(), "--strip-components=1"])
        .current_dir(folder)
        .status();
    assert!(unpacked.is_ok_and(|status| status.success()), "tar failed");
}

/// Unpacks the package with the model `tiny` as its default, as `trainer export --site` does for a
/// page with another model.
///
/// # Panics
/// As [`unpack`].
pub fn unpack_with_tiny(folder: &Path) {
    unpack(folder);
    let model = folder.join("models").join(DEFAULT);
    fs::remove_dir_all(&model)
        .and_then(|()| xtask::files::copy_folder(&tiny(), &model))
        .unwrap_or_else(|e| panic!("{}: {e}", model.display()));
}

/// Returns the archive, which is packed once a process.
fn archive() -> &'static Path {
    static PACKED: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PACKED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap_or_else(|e| panic!("no temporary folder: {e}"));
        let path = xtask::paths::root()
            .and_then(|root| xtask::release::widget::pack(&root, &site::dist(), folder.path()))
            .unwrap_or_else(|e| panic!("{e:#}"));
        (folder, path)
    });
    path
}
