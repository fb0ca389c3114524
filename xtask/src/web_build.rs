//! The page and its two workers, built by trunk without any download.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{capture, command, run};
use crate::setup::target::TARGET;
use crate::setup::{WasmTools, cargo_tool::CargoTool};
use crate::{engines, models, offline, paths, phases, sizes, stamp, wire};

const NOT_BUILT: &str = "the page could not be built";

/// Builds the page into `dist/` unless it is up to date, and prints the sizes of its programs.
/// Budgets apply to the release build only.
///
/// # Errors
/// Fails if the build fails, or if a program exceeds its budget.
pub fn build(root: &Path, tools: &WasmTools, release: bool) -> Result<()> {
    let dist = paths::dist(root);
    let settings = settings(root, tools, release)?;
    unless_fresh(root, &dist, &settings, || {
        phases::run("the page and its engines", "10 minutes", || {
            fetch(root)?;
            run(&mut trunk(root, tools, release)?).context(NOT_BUILT)?;
            finish(&dist, engines::ALL)
        })
    })?;
    sizes::check(&dist, engines::ALL, release)?;
    wire::check(&dist, release)
}

/// Builds the page with the CPU engine alone into a folder of its own, unless it is up to date, and returns
/// the folder. The WebGPU engine takes longer than everything else: the page can be opened before it is
/// built, and most tests do without it.
///
/// What is compiled here is not compiled again by [`build`].
///
/// # Errors
/// Fails if the build fails, or if a program exceeds its budget.
pub fn build_first(root: &Path, tools: &WasmTools) -> Result<PathBuf> {
    let folder = paths::target(root).join("first-page");
    let settings = format!("{}engine={}\n", settings(root, tools, true)?, engines::CPU);
    unless_fresh(root, &folder, &settings, || {
        phases::run("the page with its CPU engine", "6 minutes", || {
            fetch(root)?;
            let page = std::fs::read_to_string(root.join("web/index.html"))?;
            // Beside the other one, since what it names is relative to it; removed when this ends.
            let mut index = tempfile::Builder::new()
                .prefix("first-")
                .suffix(".tmp")
                .tempfile_in(root.join("web"))?;
            index.write_all(without(&page, engines::GPU)?.as_bytes())?;
            index.flush()?;
            let mut trunk = trunk(root, tools, true)?;
            trunk.args(["--html-output", "index.html", "--dist"]);
            run(trunk.arg(&folder).arg(index.path())).context(NOT_BUILT)?;
            drop(index);
            finish(&folder, &[engines::CPU])
        })
    })?;
    sizes::check(&folder, &[engines::CPU], true)?;
    Ok(folder)
}

/// Builds a page unless it is the result of the same sources and settings.
fn unless_fresh(
    root: &Path,
    folder: &Path,
    settings: &str,
    build: impl FnOnce() -> Result<()>,
) -> Result<()> {
    if stamp::is_fresh(root, folder, settings) {
        eprintln!("the page in {} is up to date", folder.display());
        return Ok(());
    }
    build()?;
    stamp::write(root, folder, settings)
}

/// Returns the index of the page without the element that makes trunk build a program.
fn without(page: &str, program: &str) -> Result<String> {
    let name = format!("data-bin=\"{program}\"");
    let place = page
        .find(&name)
        .with_context(|| format!("web/index.html: expected `{name}` in it"))?;
    let (before, after) = (page[..place].rfind("<link"), page[place..].find("/>"));
    match (before, after) {
        (Some(start), Some(length)) => {
            let end = place + length + "/>".len();
            Ok(format!("{}{}", &page[..start], &page[end..]))
        }
        _ => bail!("web/index.html: expected `{name}` inside <link … />"),
    }
}

/// Completes what trunk has built.
fn finish(folder: &Path, engines: &[&str]) -> Result<()> {
    engines::arrange(folder, engines)?;
    models::write(folder)?;
    offline::write_widget_hash(folder)?;
    offline::list(folder)
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

/// Returns the command that builds the page of `web/index.html`.
fn trunk(root: &Path, tools: &WasmTools, release: bool) -> Result<Command> {
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
    Ok(build)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_page_is_built_from_the_same_index_without_the_webgpu_engine() {
        let root = paths::root().unwrap();
        let page = std::fs::read_to_string(root.join("web/index.html")).unwrap();
        let first = without(&page, engines::GPU).unwrap();
        assert!(page.contains("worker_gpu") && !first.contains("worker_gpu"));
        assert!(first.contains("data-bin=\"worker_cpu\""));
        let links = |text: &str| text.matches("<link").count();
        assert_eq!(links(&first) + 1, links(&page));
        assert_eq!(first.matches("/>").count() + 1, page.matches("/>").count());
    }

    #[test]
    fn a_program_that_the_index_does_not_name_is_an_error() {
        let error = without("<html></html>", "worker_x").unwrap_err();
        assert!(error.to_string().contains("worker_x"), "{error}");
    }
}
