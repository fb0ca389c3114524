//! A folder of photos: `trainer embed`, beside a script with Pillow and ONNX Runtime.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use xtask::paths;
use xtask::process::{command, run as execute};

use super::inference::DEFAULT;
use super::measure::Options;
use super::programs::Programs;
use super::rounds::{Comparison, table};

const ESPALIER: &str = "`trainer embed`";
const SCRIPT: &str = "Pillow and ONNX Runtime";

/// Measures; returns the table. Our time is that of the whole command, its start included; that of the script begins
/// when its libraries and its model are loaded.
pub(super) fn run(root: &Path, programs: &mut Programs, options: &Options) -> Result<String> {
    let photos = options.photos.as_ref().context("no folder of photos")?;
    let mut build = command("cargo");
    build.args(["build", "--release", "-p", "espalier-trainer", "--bins"]);
    execute(build.current_dir(root)).context("the trainer could not be built")?;
    let folder = programs.share(&DEFAULT, &["onnx"], &[8])?;
    let request = json!({
        "do": "folder", "folder": folder, "photos": photos, "threads": options.threads,
    });
    // The first round of the script counts the photos, and fills the system's cache of files for both.
    let count = programs.peers.ask(&request)?["photos"].as_u64();
    let count = count.context("the script counted no photos")?;
    let work = format!("{count} photos, {} threads", options.threads);
    let comparison =
        Comparison::measure(
            work,
            &[ESPALIER, SCRIPT],
            options.rounds,
            |name| match name {
                SCRIPT => programs.peers.ask(&request),
                _ => embed(root, photos, options.threads, count),
            },
        )?;
    Ok(table(&[comparison]))
}

/// Measures the command.
fn embed(root: &Path, photos: &Path, threads: usize, count: u64) -> Result<Value> {
    let out = tempfile::tempdir()?;
    let mut trainer = command(paths::release(root).join("trainer"));
    trainer
        .args(["embed", "--model"])
        .arg(root.join("static/models/default"))
        .arg("--images")
        .arg(photos)
        .arg("--out")
        .arg(out.path().join("photos.safetensors"))
        .env("RAYON_NUM_THREADS", threads.to_string());
    let begun = Instant::now();
    execute(trainer.current_dir(root))?;
    let seconds = begun.elapsed().as_secs_f64() / count.max(1) as f64;
    Ok(json!({ "seconds_per_image": seconds, "best_seconds_per_image": seconds }))
}
