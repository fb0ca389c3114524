//! The page's CPU engine in Chromium, beside ONNX Runtime Web with the same encoder.
//!
//! Chromium opens a page (`benches/peers/browser`) that starts the engine of the built page and
//! ONNX Runtime Web, each in a worker, measures them in alternating rounds and sends the result
//! back.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::files::copy_folder;
use xtask::process::command;
use xtask::setup::{self, npm::NpmPackage};
use xtask::{paths, web_build};

use super::inference::DEFAULT;
use super::measure::Options;
use super::programs::{Programs, check_difference};
use super::rounds::{Comparison, table};
use super::site::Site;

const PAGE: &str = "benches/peers/browser";

/// The photo whose stages are shown, one of the samples of the page.
const PHOTO: &str = "samples/cat.jpg";

/// The peer of the page's engine: its WebAssembly backend, JavaScript and the one program that it starts.
const ORT_WEB: NpmPackage = NpmPackage {
    name: "onnxruntime-web",
    version: "1.30.0",
    integrity: Some(
        "sha512-q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ==",
    ),
    folder: "package/dist",
    files: &["ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"],
};

/// The evaluation crop of EfficientNet leaves out this many pixels of the side that it resizes to.
const CROPPED: u64 = 32;

/// Longest time for loading and for each of the measurements, besides their own time.
const PATIENCE: Duration = Duration::from_secs(120);

/// Stages of the engine's start, by the message that ends them.
const STAGES: [(&str, &str); 4] = [
    ("booted", "engine: fetch, compile, start"),
    ("model", "manifest: fetch, read"),
    ("self_test", "model: fetch, check, unpack"),
    ("ready", "weights: pack; test on a stored image"),
];

/// Stages of a photo, by their names in the result.
const PHOTO_STAGES: [(&str, &str); 5] = [
    ("decode", "decode"),
    ("embed", "crop, resize, encode"),
    ("rank", "rank"),
    ("total", "compute, all of the above"),
    ("answer", "from the request to the answer"),
];

/// Builds the page and measures; returns the names of the programs and the tables.
pub(super) fn run(
    root: &Path,
    programs: &mut Programs,
    options: &Options,
) -> Result<(String, String)> {
    let tools = setup::wasm(root)?;
    let browser = setup::browser::ensure()?;
    let ort = ORT_WEB.ensure()?;
    web_build::build(root, &tools, true)?;
    let folder = prepare(root, programs, options)?;
    let site = Site::start(
        folder.path(),
        &[("/app", &paths::dist(root)), ("/ort", &ort)],
    )?;
    let result = measure(&browser.chromium, &site, options)?;
    check_difference("ONNX Runtime Web", &result)?;
    let versions = format!(
        "{}, ONNX Runtime Web {}, {}",
        programs.ours.engine,
        ORT_WEB.version,
        result["browser"].as_str().unwrap_or("Chromium"),
    );
    let tables = format!(
        "{}\n{}\n{}",
        table(&[comparison(&result)?]),
        start(&result["stages"]),
        photo(&result["photo"]),
    );
    Ok((versions, tables))
}

/// Puts together the folder of the benchmark's page: the page itself, its settings, and the encoder
/// with an image and its features.
fn prepare(root: &Path, programs: &mut Programs, options: &Options) -> Result<TempDir> {
    let site = tempfile::tempdir().context("cannot make a temporary folder")?;
    let folder = programs.share(&DEFAULT, &["onnx"], &[1])?;
    let exported = programs
        .peers
        .ask(&json!({ "do": "export", "folder": folder, "to": site.path() }))?;
    let side = exported["side"]
        .as_u64()
        .with_context(|| format!("expected the side of the images, found {exported}"))?;
    copy_folder(&root.join(PAGE), site.path())?;
    let settings = json!({
        "rounds": options.rounds,
        "seconds": options.seconds,
        "side": side,
        "photo": PHOTO,
        "photo_side": side + CROPPED,
    });
    fs::write(site.path().join("settings.json"), settings.to_string())?;
    Ok(site)
}

/// A browser that ends when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens the page in Chromium and waits for its result.
fn measure(chromium: &Path, site: &Site, options: &Options) -> Result<Value> {
    let profile = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut browser = command(chromium);
    browser
        .args(["--headless=new", "--no-sandbox", "--disable-quic"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(site.server.url())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut browser = Running(browser.spawn().context("Chromium does not start")?);
    let measured = Duration::from_secs_f64(options.seconds) * (2 * options.rounds as u32 + 2);
    let result = site.result(PATIENCE + 2 * measured, || {
        matches!(browser.0.try_wait(), Ok(None))
    })?;
    let result: Value = serde_json::from_str(&result)
        .with_context(|| format!("expected JSON from the page, found `{result}`"))?;
    if let Some(error) = result["error"].as_str() {
        bail!("the page of the benchmark failed: {error}");
    }
    Ok(result)
}

fn comparison(result: &Value) -> Result<Comparison> {
    let rounds = result["rounds"]["espalier"].as_array();
    let rounds = rounds.map_or(0, Vec::len);
    let (mut ours, mut theirs) = (0, 0);
    let title = "default model in Chromium, 1 thread".to_owned();
    Comparison::measure(title, &["Espalier", "ONNX Runtime Web"], rounds, |name| {
        let (key, at) = match name {
            "Espalier" => ("espalier", &mut ours),
            _ => ("ort", &mut theirs),
        };
        *at += 1;
        Ok(result["rounds"][key][*at - 1].clone())
    })
}

/// Returns the stages of the engine's start, as a Markdown table.
fn start(stages: &Value) -> String {
    let mut table = String::from("| start of the engine | milliseconds |\n|---|--:|\n");
    let mut before = 0.0;
    for (key, title) in STAGES {
        if let Some(until) = stages[key].as_f64() {
            let _ = writeln!(table, "| {title} | {:.0} |", until - before);
            before = until;
        }
    }
    let _ = writeln!(table, "| all | {before:.0} |");
    table
}

/// Returns the stages of a photo, the first time and later, as a Markdown table.
fn photo(photo: &Value) -> String {
    let mut table = String::from("| a photo, milliseconds | first | warm |\n|---|--:|--:|\n");
    for (key, title) in PHOTO_STAGES {
        let time = |when: &str| photo[when][key].as_f64().unwrap_or(f64::NAN);
        let _ = writeln!(
            table,
            "| {title} | {:.1} | {:.1} |",
            time("first"),
            time("warm")
        );
    }
    table
}
