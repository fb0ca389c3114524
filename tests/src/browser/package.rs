//! The widget's npm package, packed from the built page as a release packs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::site::{self, DEFAULT};
use crate::models::tiny;

/// Unpacks the package into a folder, as `npm install` does.
pub fn unpack(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let unpacked = Command::new("tar")
        .args(["xzf", &archive().to_string_lossy(), "--strip-components=1"])
        .current_dir(folder)
        .status();
    assert!(unpacked.is_ok_and(|status| status.success()), "tar failed");
}

/// Unpacks the package with the model `tiny` as its default, as `trainer export --site` does for a
/// page with another model.
pub fn unpack_with_tiny(folder: &Path) {
    unpack(folder);
    site::replace_folder(&folder.join("models").join(DEFAULT), &tiny());
}

/// Returns the archive, which is packed once a process.
fn archive() -> &'static Path {
    static PACKED: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = PACKED.get_or_init(|| {
        let (folder, root) = (tempfile::tempdir().unwrap(), xtask::paths::root().unwrap());
        let path = xtask::release::widget::pack(&root, &site::dist(), folder.path()).unwrap();
        (folder, path)
    });
    path
}
