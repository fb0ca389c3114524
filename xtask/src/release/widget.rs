//! The widget as an npm package: the element, both engines and the default model from the built page,
//! with types and documents from `web/npm`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::version::VERSION;
use super::{licences, page};
use crate::engines;
use crate::files::copy_folder;
use crate::process::{capture, command, on_path};
use crate::setup::target::TARGET;

/// Packs the widget of a built page with `npm pack`, and returns the path of the archive.
///
/// # Errors
/// Fails if the page was not built, npm is missing or refuses the package.
pub fn pack(root: &Path, dist: &Path, out: &Path) -> Result<PathBuf> {
    if on_path("npm").is_none() {
        bail!("npm is missing, and the widget is packed with `npm pack`: install Node.js");
    }
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    assemble(root, dist, folder.path())?;
    let mut npm = command("npm");
    npm.args(["pack", "--silent", "--ignore-scripts"])
        .arg("--pack-destination")
        .arg(out)
        .current_dir(folder.path());
    let name = capture(&mut npm).context("npm did not pack the widget")?;
    let path = out.join(name.trim());
    if !path.is_file() {
        bail!(
            "expected npm to write {}, found no such file",
            path.display()
        );
    }
    Ok(path)
}

/// Puts the files of the package into a folder.
fn assemble(root: &Path, dist: &Path, folder: &Path) -> Result<()> {
    let copy = |from: &Path, to: &Path| {
        copy_folder(from, to)
            .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
    };
    copy(&root.join("web/npm"), folder)?;
    let list = fs::read(dist.join(engines::FILE)).context("engines.json is missing")?;
    fs::write(folder.join(engines::FILE), &list)?;
    let list: Value = serde_json::from_slice(&list)?;
    let engine = list["folder"].as_str().context("engines.json: no folder")?;
    for name in ["widget", "models/default", engine] {
        copy(&dist.join(name), &folder.join(name))?;
    }
    for (name, text) in licences::files(root, &page::SELECTION, TARGET)? {
        fs::write(folder.join(name), text)?;
    }
    let path = folder.join("package.json");
    let mut package: Value = serde_json::from_slice(&fs::read(&path)?)?;
    package["version"] = json!(VERSION);
    fs::write(&path, format!("{package:#}\n"))?;
    Ok(())
}
