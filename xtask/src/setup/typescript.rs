//! TypeScript and React's types, which check the types of the widget's npm package.
//!
//! Installed from npm's registry by npm into the cache folder; nothing of it is shipped.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::paths;
use crate::process::{command, on_path, run};

/// The packages at the versions that the tests are written for.
const PACKAGES: [&str; 2] = ["typescript@5.9.3", "@types/react@19.2.2"];

/// The compiler's program.
const COMPILER: &str = "typescript/bin/tsc";

/// Returns the folder `node_modules` with the packages, which are fetched if missing.
///
/// # Errors
/// The error says what to install if there is no npm, or that the registry returned nothing.
pub fn ensure() -> Result<PathBuf> {
    let folder = paths::cache().join(PACKAGES.join("-").replace(['/', '@'], "-"));
    let modules = folder.join("node_modules");
    if modules.join(COMPILER).is_file() {
        return Ok(modules);
    }
    if on_path("npm").is_none() {
        bail!("npm is missing, so TypeScript cannot be fetched: install Node.js");
    }
    std::fs::create_dir_all(&folder)?;
    let mut npm = command("npm");
    npm.args(["install", "--silent", "--no-save", "--ignore-scripts"])
        .args(PACKAGES)
        .arg("--prefix")
        .arg(&folder);
    run(&mut npm).context("npm did not fetch TypeScript")?;
    if !modules.join(COMPILER).is_file() {
        bail!("expected {COMPILER} in {}, found none", modules.display());
    }
    Ok(modules)
}
