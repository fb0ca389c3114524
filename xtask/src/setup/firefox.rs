//! Firefox and its WebDriver.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt;
use super::cargo_tool::CargoTool;
use crate::process::working;
use anyhow::{Context, Result};

/// Names of the Firefox program, in search order. Debian has the release with extended support.
const FIREFOX: [&str; 2] = ["firefox-esr", "firefox"];

/// Firefox and the program that drives it.
struct Firefox {
    firefox: PathBuf,
    /// Its WebDriver. Debian has no package for it, so it comes from crates.io.
    geckodriver: PathBuf,
}

/// Lets a command of cargo run its tests in Firefox too; if that cannot be had, those are skipped with a note.
pub fn add_to(tests: &mut Command, root: &Path) {
    match ensure(root) {
        Ok(installed) => {
            tests.env("FIREFOX", installed.firefox);
            tests.env("GECKODRIVER", installed.geckodriver);
        }
        Err(error) => {
            eprintln!("the tests in Firefox are skipped: {error:#}");
            tests.args(["--skip", "firefox"]);
        }
    }
}

/// Finds Firefox and geckodriver; installs what is missing.
fn ensure(root: &Path) -> Result<Firefox> {
    let find = || FIREFOX.iter().find_map(|name| working(name));
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
