//! Tests that measure the page in Chromium, and in Firefox if that is available: `cargo xtask agree`, `siege` and
//! `page-cost`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use xtask::process::{command, on_path, stream};
use xtask::{paths, setup, web_build};

/// Emulator that can hide a processor's newer instructions; Debian's package `qemu-user`.
const QEMU: &str = "qemu-x86_64";

/// Options of the tests of the page under load.
#[derive(Args, Clone, Debug)]
pub struct SiegeOptions {
    /// Number of photos that a session reads; about as many more are given and cancelled
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(60..=100_000))]
    photos: u32,
}

/// Reads a folder of photos with every engine and prints whether all give the same answers.
///
/// # Errors
/// Fails if there is no such folder, and if an engine gives another ladder or stop.
pub fn agree(root: &Path, photos: &Path) -> Result<()> {
    let photos = photos
        .canonicalize()
        .with_context(|| format!("{} does not exist", photos.display()))?;
    if !photos.is_dir() {
        bail!("{}: expected a folder of photos", photos.display());
    }
    let mut tests = in_all_browsers(root, "nightly::agreement::")?;
    tests.env("ESPALIER_AGREE_PHOTOS", photos);
    match on_path(QEMU) {
        Some(qemu) => drop(tests.env("QEMU", qemu)),
        None => {
            eprintln!("A processor without AVX is skipped: {QEMU} is not installed");
            tests.args(["--skip", "without_avx"]);
        }
    }
    run(&mut tests, "not all engines agree")
}

/// Runs the tests of the page under load, with sessions of this many photos.
///
/// # Errors
/// If the page cannot be built, and if it takes more and more memory or does not recover.
pub fn siege(root: &Path, options: &SiegeOptions) -> Result<()> {
    let mut tests = in_all_browsers(root, "nightly::siege::")?;
    tests.env("ESPALIER_SIEGE_PHOTOS", options.photos.to_string());
    run(
        &mut tests,
        "a test of the page under load failed; its message is above",
    )
}

/// Opens the page with a bundle on the CPU engine and prints the bytes, memory and time that it costs a visitor.
///
/// # Errors
/// Fails if there is no bundle, the page cannot be built, or it gives no answer.
pub fn page_cost(root: &Path, bundle: &Path) -> Result<()> {
    let folder = bundle
        .canonicalize()
        .with_context(|| format!("{} does not exist", bundle.display()))?;
    if !folder.join("manifest.json").is_file() {
        bail!(
            "{}: expected a bundle, a folder with a manifest.json; `trainer export` writes one",
            bundle.display()
        );
    }
    let mut tests = in_all_browsers(root, "nightly::cost::")?;
    tests.env("ESPALIER_COST_BUNDLE", folder);
    let failure = format!("the page gave no answer with {}", bundle.display());
    run(&mut tests, &failure)
}

fn run(tests: &mut Command, failure: &str) -> Result<()> {
    if !stream(tests, |_| ())?.success() {
        bail!("{failure}");
    }
    Ok(())
}

/// Builds the page and returns the command that runs the tests below a path of the program
/// `tests/tests/browser/`.
fn in_all_browsers(root: &Path, test: &str) -> Result<Command> {
    let tools = setup::wasm(root)?;
    let browser = setup::browser::ensure()?;
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
    setup::firefox::add_to(&mut cargo, root);
    Ok(cargo)
}
