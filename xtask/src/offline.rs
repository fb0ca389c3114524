//! Fills in the service worker's list of files and the hash in the widget's demo.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::{digest, engines, files};

/// The service worker in the built page.
const WORKER: &str = "sw.js";

/// The line of the service worker that a build replaces.
const PLACEHOLDER: &str = "const BUILD = { version: \"\", shell: [] };";

/// Names excluded from the list, because they are not needed to open the page, are fetched only when
/// asked for, or are cached by the worker that uses them. The widget and its demo belong to other
/// sites.
const EXCLUDED: [&str; 5] = ["demo", "examples", "models", "widget", WORKER];

/// Manifest of the default model, which the service worker caches as well.
const MODEL: &str = "models/default/manifest.json";

/// Writes the file list of a new build into its service worker.
///
/// # Errors
/// Fails if the service worker was not built, or has no line for the list.
pub fn list(dist: &Path) -> Result<()> {
    let path = dist.join(WORKER);
    let script =
        fs::read_to_string(&path).with_context(|| format!("{} was not built", path.display()))?;
    if !script.contains(PLACEHOLDER) {
        bail!("{}: expected the line `{PLACEHOLDER}`", path.display());
    }
    let all = files::below(dist)?;
    let names = all.iter().map(|file| files::name_from(dist, file));
    let mut shell: Vec<String> = names.filter(|name| is_needed(name)).collect();
    if dist.join(MODEL).is_file() {
        shell.push(MODEL.to_owned());
    }
    shell.sort();
    let contents = shell
        .iter()
        .map(|name| Ok(fs::read(dist.join(name))?))
        .collect::<Result<Vec<_>>>()?;
    let build = json!({ "version": digest::short(&contents), "shell": shell });
    let filled = script.replace(PLACEHOLDER, &format!("const BUILD = {build:#};"));
    fs::write(&path, filled).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns whether a file is needed to open the page. The scripts of the engines are, but not their
/// `.wasm` files: a visitor needs at most one of these.
fn is_needed(name: &str) -> bool {
    let is_hidden = name.split('/').any(|part| part.starts_with('.'));
    let top = name.split('/').next().unwrap_or_default();
    let is_engine = top.starts_with(engines::FOLDER) && name.ends_with(".wasm");
    !is_hidden && !is_engine && !EXCLUDED.contains(&top)
}

/// The widget's one script, relative to the built page.
pub const WIDGET: &str = "widget/espalier-ladder.js";

/// Placeholder for the widget's hash in the demo page.
const HASH: &str = "sha384-of-the-widget";

/// Writes the widget's hash into the demo page, as the author of a page would.
///
/// # Errors
/// Fails if the widget or the demo was not built.
pub fn write_widget_hash(dist: &Path) -> Result<()> {
    let read =
        |name: &str| fs::read(dist.join(name)).with_context(|| format!("{name} was not built"));
    let hash = digest::integrity(&read(WIDGET)?);
    let demo = String::from_utf8(read("demo/index.html")?)?;
    if !demo.contains(HASH) {
        bail!("demo/index.html: expected `{HASH}` in it");
    }
    fs::write(dist.join("demo/index.html"), demo.replace(HASH, &hash))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dist() -> tempfile::TempDir {
        let dist = tempfile::tempdir().unwrap();
        let files = [
            ("index.html", "page"),
            ("app-1234.css", "style"),
            ("art/leaf.svg", "leaf"),
            ("examples/n01440764.webp", "tench"),
            ("engine-12/worker.js", "start"),
            ("engine-12/worker_cpu_bg.wasm", "program"),
            ("models/default/manifest.json", "{}"),
            ("models/default/image.safetensors", "weights"),
            ("widget/espalier-ladder.js", "abc"),
            (
                "demo/index.html",
                "<script integrity=\"sha384-of-the-widget\">",
            ),
            (".stamp", "hidden"),
        ];
        for (name, content) in files {
            let path = dist.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::write(
            dist.path().join(WORKER),
            format!("// worker\n{PLACEHOLDER}\n"),
        )
        .unwrap();
        dist
    }

    #[test]
    fn the_service_worker_lists_the_files_of_the_page_and_changes_with_them() {
        let first = dist();
        list(first.path()).unwrap();
        let script = fs::read_to_string(first.path().join(WORKER)).unwrap();
        for name in [
            "\"index.html\"",
            "\"app-1234.css\"",
            "\"art/leaf.svg\"",
            "\"engine-12/worker.js\"",
            "\"models/default/manifest.json\"",
        ] {
            assert!(script.contains(name), "{name} is missing: {script}");
        }
        for name in [
            "wasm",
            "safetensors",
            "widget",
            "demo",
            "examples",
            "stamp",
            "sw.js",
        ] {
            assert!(!script.contains(name), "{name} is listed: {script}");
        }
        let second = dist();
        fs::write(second.path().join("app-1234.css"), "another").unwrap();
        list(second.path()).unwrap();
        assert_ne!(
            script,
            fs::read_to_string(second.path().join(WORKER)).unwrap()
        );
    }

    #[test]
    fn the_demo_names_the_widget_by_its_hash() {
        let dist = dist();
        write_widget_hash(dist.path()).unwrap();
        let demo = fs::read_to_string(dist.path().join("demo/index.html")).unwrap();
        assert!(demo.contains(&digest::integrity(b"abc")), "{demo}");
        assert!(write_widget_hash(dist.path()).is_err(), "filled in twice");
    }
}
