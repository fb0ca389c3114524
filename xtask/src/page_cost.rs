//! `cargo xtask page-cost`: the bytes, memory and time that a bundle costs a visitor.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::process::{command, stream};
use crate::setup::{self, wasm_target::Choice};
use crate::{paths, web_build};

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
    let tools = setup::wasm(root, Choice::Best)?;
    let browser = setup::browser::ensure()?;
    let firefox = setup::firefox::ensure(root);
    web_build::build(root, &tools, true)?;
    let mut cargo = command("cargo");
    cargo
        .args(["test", "--release", "--workspace", "--test", "browser_cost"])
        .args(["--", "--ignored", "--nocapture", "--test-threads=1"])
        .env(BUNDLE, folder)
        .env("ESPALIER_DIST", paths::dist(root))
        .env("CHROMIUM", &browser.chromium)
        .env("CHROMEDRIVER", &browser.chromedriver)
        .current_dir(root);
    match &firefox {
        Ok(installed) => {
            cargo.env("FIREFOX", &installed.firefox);
            cargo.env("GECKODRIVER", &installed.geckodriver);
        }
        Err(error) => eprintln!("Firefox is skipped: {error:#}"),
    }
    let status = stream(&mut cargo, |_| ())?;
    if !status.success() {
        bail!("the page gave no answer with {}", bundle.display());
    }
    Ok(())
}
