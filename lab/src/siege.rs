//! `cargo xtask siege`: the page under load, in Chromium and in Firefox.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use xtask::process::stream;

use crate::browser_test::in_all_browsers;

/// Variable that gives the long session its number of photos.
const PHOTOS: &str = "ESPALIER_SIEGE_PHOTOS";

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of photos that a session reads; about as many more are given and cancelled
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(60..=100_000))]
    pub photos: u32,
}

/// Builds the page and runs its tests under load, with sessions of this many photos.
///
/// # Errors
/// If the page cannot be built, and if it takes more and more memory or does not recover.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let mut cargo = in_all_browsers(root, "nightly::siege::")?;
    cargo.env(PHOTOS, options.photos.to_string());
    if !stream(&mut cargo, |_| ())?.success() {
        bail!("a test of the page under load failed; its message is above");
    }
    Ok(())
}
