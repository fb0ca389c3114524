//! The page and its two workers, built by trunk without any download.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{capture, command, run};
use crate::setup::target::TARGET;
use crate::setup::{WasmTools, cargo_tool::CargoTool};
use crate::{engines, models, offline, paths, sizes, stamp, wire};

/// Builds the page into `dist/` unless it is up to date, and prints the sizes of its programs.
/// Budgets apply to the release build only.
///
/// # Errors
/// Fails if the build fails, or if a program exceeds its budget.
pub fn build(root: &Path, tools: &WasmTools, release: bool) -> Result<()> {
    let dist = paths::dist(root);
    let settings = settings(root, tools, release)?;
    if stamp::is_fresh(root, &dist, &settings) {
        eprintln!("the page in dist/ is up to date");
    } else {
        fetch(root)?;
        trunk(root, tools, release)?;
        engines::arrange(&dist)?;
        models::write(&dist)?;
        offline::write_widget_hash(&dist)?;
        offline::list(&dist)?;
        stamp::write(root, &dist, &settings)?;
    }
    sizes::check(&dist, release)?;
    wire::check(&dist, release)
}

/// Returns everything besides the sources that determines the result.
fn settings(root: &Path, tools: &WasmTools, release: bool) -> Result<String> {
    let compiler = capture(tools.command("rustc").arg("-V").current_dir(root))?;
    let optimiser = capture(tools.command("wasm-opt").arg("--version"))?;
    Ok(format!("release={release}\n{compiler}{optimiser}"))
}

/// Fetches the crates first: trunk builds offline, so that it never downloads a tool of its own.
fn fetch(root: &Path) -> Result<()> {
    run(command("cargo")
        .args(["fetch", "--quiet", "--target", TARGET])
        .current_dir(root))
}

fn trunk(root: &Path, tools: &WasmTools, release: bool) -> Result<()> {
    if !root.join("Trunk.toml").exists() {
        bail!("there is no Trunk.toml in {}", root.display());
    }
    let program = CargoTool::trunk()
        .find()
        .context("trunk is missing: run `cargo xtask setup`")?;
    let mut build = tools.command(&program.to_string_lossy());
    build.args(["build", "--offline"]).current_dir(root);
    if release {
        build.arg("--release");
    }
    run(&mut build).context("the page could not be built")
}
