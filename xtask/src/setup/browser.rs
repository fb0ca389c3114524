//! Chromium and its WebDriver, for the browser tests.

use std::path::PathBuf;

use anyhow::{Context, Result};

use super::apt;
use crate::process::working;

/// Names of the Chromium program, in search order.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The two programs that a browser test starts.
#[derive(Clone, Debug)]
pub struct Browser {
    /// Chromium itself.
    pub chromium: PathBuf,
    /// Its WebDriver.
    pub chromedriver: PathBuf,
}

/// Finds Chromium and chromedriver; installs Debian's packages if one is missing.
///
/// # Errors
/// Says what to install by hand.
pub fn ensure() -> Result<Browser> {
    if let Some(browser) = find() {
        return Ok(browser);
    }
    apt::ensure(&["chromium", "chromium-driver"])
        .context("the browser tests need Chromium and chromedriver of the same version")?;
    find().context(
        "chromium or chromedriver does not start although both are installed; \
         put a working pair on the PATH, or skip the browser tests with --no-browser",
    )
}

fn find() -> Option<Browser> {
    Some(Browser {
        chromium: CHROMIUM.iter().find_map(|name| working(name))?,
        chromedriver: working("chromedriver")?,
    })
}
