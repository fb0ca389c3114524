//! Firefox and its WebDriver.

use std::path::{Path, PathBuf};

use super::apt;
use super::cargo_tool::CargoTool;
use crate::process::{command, on_path, succeeds};
use anyhow::{Context, Result};

/// Names of the Firefox program, in search order. Debian has the release with extended support.
const FIREFOX: [&str; 2] = ["firefox-esr", "firefox"];

/// Firefox and the program that drives it.
#[derive(Clone, Debug)]
pub struct Firefox {
    /// Firefox itself.
    pub firefox: PathBuf,
    /// Its WebDriver. Debian has no package for it, so it comes from crates.io.
    pub geckodriver: PathBuf,
}

/// Finds Firefox and geckodriver; installs what is missing.
///
/// # Errors
/// Says what to install by hand.
pub fn ensure(root: &Path) -> Result<Firefox> {
    let firefox = match find() {
        Some(firefox) => firefox,
        None => {
            apt::ensure(&["firefox-esr"]).context("Debian's package `firefox-esr` is missing")?;
            find().context("firefox-esr is installed and does not start")?
        }
    };
    Ok(Firefox {
        firefox,
        geckodriver: CargoTool::geckodriver().ensure(root)?,
    })
}

/// Returns the first name that starts: on Ubuntu `firefox` may only ask to install a snap.
fn find() -> Option<PathBuf> {
    let starts = |program: &PathBuf| succeeds(command(program).arg("--version"));
    FIREFOX.iter().filter_map(|name| on_path(name)).find(starts)
}
