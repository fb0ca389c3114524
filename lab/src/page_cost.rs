//! `cargo xtask page-cost`: the bytes, memory and time that a bundle costs a visitor.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xtask::process::stream;

use crate::browser_test::in_all_browsers;

/// Variable that names the bundle for the test that measures it.
pub const BUNDLE: &str = "ESPALIER_COST_BUNDLE";

/// Opens the page with `bundle` on the CPU engine, in Chromium and then in Firefox if available,
/// and prints the cost.
///
/// # Errors
/// Fails if there is no bundle, the page cannot be built, or it gives no answer.
pub fn run(root: &Path, bundle: &Path) -> Result<()> {
    let folder: PathBuf = bundle
        .canonicalize()
        .with_context(|| format!("{} does not exist", bundle.display()))?;
    if !folder.join("manifest.json").is_file() {
        bail!(
            "{}: expected a bundle, a folder with a manifest.json; `trainer export` writes one",
            bundle.display()
        );
    }
    let mut cargo = in_all_browsers(root, "nightly::cost::")?;
    cargo.env(BUNDLE, folder);
    let status = stream(&mut cargo, |_| ())?;
    if !status.success() {
        bail!("the page gave no answer with {}", bundle.display());
    }
    Ok(())
}
