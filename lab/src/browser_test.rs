//! Tests that measure the page in all browsers that can be had.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use xtask::process::command;
use xtask::setup::{self, wasm_target::Choice};
use xtask::{paths, web_build};

/// Builds the page and returns the command that runs the tests below a path of the program
/// `tests/tests/browser/` in Chromium, and in Firefox if that is available.
///
/// # Errors
/// Fails if Chromium cannot be had or the page cannot be built.
pub fn in_all_browsers(root: &Path, test: &str) -> Result<Command> {
    let tools = setup::wasm(root, Choice::Best)?;
    let browser = setup::browser::ensure()?;
    let firefox = setup::firefox::ensure(root);
    web_build::build(root, &tools, true)?;
    let mut cargo = command("cargo");
    cargo
        .args(["test", "--workspace", "--test", "browser"])
        .args(paths::QUICK)
        .args(["--", "--ignored", "--nocapture", "--test-threads=1", test])
        .env("ESPALIER_DIST", paths::dist(root))
        .env("CHROMIUM", &browser.chromium)
        .env("CHROMEDRIVER", &browser.chromedriver)
        .current_dir(root);
    match &firefox {
        Ok(installed) => {
            cargo.env("FIREFOX", &installed.firefox);
            cargo.env("GECKODRIVER", &installed.geckodriver);
        }
        Err(error) => {
            eprintln!("Firefox is skipped: {error:#}");
            cargo.args(["--skip", "firefox"]);
        }
    }
    Ok(cargo)
}
