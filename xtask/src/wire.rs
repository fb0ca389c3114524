//! Transfer sizes of the page, and their budgets.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::transfer::{compressed_size, transfer_size};
use crate::{engines, files, offline};

/// Budgets in megabytes (1e6 bytes) of a first answer and of a whole visit.
const FIRST_MB: f64 = 5.0;
const ALL_MB: f64 = 16.0;

/// Budget in kilobytes of the widget before a visitor activates it.
const WIDGET_KB: u64 = 15;

/// A part of the download, and its transfer size in bytes.
type Row = (&'static str, u64);

/// Prints the transfer sizes of a first answer and of a whole visit and, with `enforce`, compares
/// them with their budgets.
///
/// # Errors
/// Fails if there is no built page, or with `enforce` if a sum exceeds its budget.
pub fn check(dist: &Path, enforce: bool) -> Result<()> {
    let mut violations = Vec::new();
    let widget = compressed_size(&dist.join(offline::WIDGET))?;
    println!(
        "\n{:<44} {:>8.1} kB, budget {WIDGET_KB} kB",
        "the widget before its button is pressed",
        kilobytes(widget)
    );
    if widget > WIDGET_KB * 1000 {
        violations.push(format!(
            "the widget is {:.1} kB after gzip, its budget is {WIDGET_KB} kB",
            kilobytes(widget)
        ));
    }
    for (target, budget, rows) in [
        ("first rungs", FIRST_MB, first(dist)?),
        ("everything", ALL_MB, all(dist)?),
    ] {
        let sum: u64 = rows.iter().map(|(_, bytes)| bytes).sum();
        println!("\n{target} on the wire");
        for (name, bytes) in &rows {
            println!("  {name:<42} {:>8.1} kB", kilobytes(*bytes));
        }
        let sum = sum as f64 / 1e6;
        println!("  {:<42} {sum:>8.2} MB, budget {budget} MB", "sum");
        if sum > budget {
            violations.push(format!("{target} take {sum:.2} MB, {budget} MB at most"));
        }
    }
    if enforce && !violations.is_empty() {
        bail!("size budgets:\n  {}", violations.join("\n  "));
    }
    Ok(())
}

fn kilobytes(bytes: u64) -> f64 {
    bytes as f64 / 1e3
}

fn json(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).with_context(|| format!("{} is missing", path.display()))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Returns the transfer size of the page itself: all visible files at the top level of the folder,
/// which excludes the demo and the widget.
fn page(dist: &Path) -> Result<u64> {
    let mut sum = 0;
    for path in files::entries(dist)? {
        if path.is_file() && !files::name_from(dist, &path).starts_with('.') {
            sum += transfer_size(&path)?;
        }
    }
    Ok(sum)
}

fn engine(dist: &Path, name: &str) -> Result<u64> {
    let folder = json(&dist.join(engines::FILE))?;
    let folder = dist.join(
        folder["folder"]
            .as_str()
            .context("engines.json has no folder")?,
    );
    [
        "worker.js".to_owned(),
        format!("{name}.js"),
        format!("{name}_bg.wasm"),
    ]
    .iter()
    .map(|file| transfer_size(&folder.join(file)))
    .sum()
}

/// Returns the transfer size of the model files of one part: of the first shard, or with `later` of
/// the others.
fn part(dist: &Path, part: &str, later: bool) -> Result<u64> {
    let folder = dist.join("models/default");
    let manifest = json(&folder.join("manifest.json"))?;
    let files = manifest["files"]
        .as_array()
        .context("manifest.json lists no files")?;
    let mut sum = 0;
    for file in files {
        let shard = file["shard"].as_u64().unwrap_or(0);
        if file["part"] == part && (shard > 0) == later {
            let name = file["path"].as_str().context("a file without a path")?;
            sum += transfer_size(&folder.join(name))?;
        }
    }
    Ok(sum)
}

fn first(dist: &Path) -> Result<Vec<Row>> {
    Ok(vec![
        ("the page", page(dist)?),
        ("the CPU engine", engine(dist, "worker_cpu")?),
        (
            "manifest",
            transfer_size(&dist.join("models/default/manifest.json"))?,
        ),
        ("image encoder", part(dist, "image", false)?),
        ("captions, the general ones", part(dist, "captions", false)?),
        ("taxonomy", part(dist, "taxonomy", false)?),
        ("detectors of statements", part(dist, "statements", false)?),
        ("self-test", part(dist, "selftest", false)?),
    ])
}

fn all(dist: &Path) -> Result<Vec<Row>> {
    let mut rows = first(dist)?;
    rows.extend([
        ("captions, the finer ones", part(dist, "captions", true)?),
        ("text encoder", part(dist, "text", false)?),
        ("the WebGPU engine", engine(dist, "worker_gpu")?),
    ]);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a built page with an image encoder of the given number of bytes.
    fn dist(encoder_bytes: usize) -> tempfile::TempDir {
        let dist = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = dist.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("index.html", b"page");
        write("widget/espalier-ladder.js", b"widget");
        write("engines.json", br#"{"folder": "engine-1/"}"#);
        for engine in ["worker_cpu", "worker_gpu"] {
            write(&format!("engine-1/{engine}.js"), b"glue");
            write(&format!("engine-1/{engine}_bg.wasm"), &[7; 10_000]);
        }
        write("engine-1/worker.js", b"start");
        write("models/default/image.safetensors", &vec![1; encoder_bytes]);
        write("models/default/captions-1.json", b"[]");
        write(
            "models/default/manifest.json",
            br#"{"files": [{"path": "image.safetensors", "part": "image"},
                {"path": "captions-1.json", "part": "captions", "shard": 1}]}"#,
        );
        dist
    }

    #[test]
    fn weights_count_as_they_are_and_programs_compressed() {
        let dist = dist(2_000_000);
        let rows = first(dist.path()).unwrap();
        let of = |name: &str| rows.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(of("image encoder"), 2_000_000);
        assert!(of("the CPU engine") < 1_000);
        assert_eq!(of("captions, the general ones"), 0);
        assert!(part(dist.path(), "captions", true).unwrap() > 0);
        assert!(check(dist.path(), true).is_ok());
    }

    #[test]
    fn a_sum_over_its_budget_is_named() {
        let message = check(dist(5_000_000).path(), true).unwrap_err().to_string();
        assert!(message.contains("first rungs take 5.0"), "{message}");
        assert!(check(dist(5_000_000).path(), false).is_ok());
    }

    #[test]
    fn a_widget_over_its_budget_is_named() {
        let dist = dist(10);
        let mut noise = 1_u64;
        let bytes: Vec<u8> = (0..40_000)
            .map(|_| {
                noise = noise
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (noise >> 56) as u8
            })
            .collect();
        fs::write(dist.path().join("widget/espalier-ladder.js"), bytes).unwrap();
        let message = check(dist.path(), true).unwrap_err().to_string();
        assert!(message.contains("the widget is"), "{message}");
    }
}
