//! `cargo xtask agree`: whether all engines give the same answers to a folder of photos.

use std::path::Path;

use anyhow::{Context, Result, bail};
use xtask::process::{on_path, stream};

use crate::browser_test::in_all_browsers;

/// Variable that names the photos for the test that compares the engines.
const PHOTOS: &str = "ESPALIER_AGREE_PHOTOS";

/// Emulator that can hide a processor's newer instructions; Debian's package `qemu-user`.
const QEMU: &str = "qemu-x86_64";

/// Reads the photos with every engine and prints a table.
///
/// # Errors
/// Fails if there is no such folder, and if an engine gives another ladder or stop.
pub fn run(root: &Path, photos: &Path) -> Result<()> {
    let photos = photos
        .canonicalize()
        .with_context(|| format!("{} does not exist", photos.display()))?;
    if !photos.is_dir() {
        bail!("{}: expected a folder of photos", photos.display());
    }
    let mut cargo = in_all_browsers(root, "nightly::agreement::")?;
    cargo.env(PHOTOS, photos);
    match on_path(QEMU) {
        Some(qemu) => drop(cargo.env("QEMU", qemu)),
        None => {
            eprintln!("A processor without AVX is skipped: {QEMU} is not installed");
            cargo.args(["--skip", "without_avx"]);
        }
    }
    if !stream(&mut cargo, |_| ())?.success() {
        bail!("not all engines agree");
    }
    Ok(())
}
