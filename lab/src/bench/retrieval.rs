//! Retrieval over precomputed embeddings, compared with NumPy and FAISS: time and peak memory.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::document;
use xtask::paths;
use xtask::process::{capture, command, run as execute};

use super::measure::{DOCUMENT, Options, median};
use super::rounds::ratios;

const PEER: &str = "benches/peers/numpy_retrieval.py";

/// The peers, by their key in the output of the script.
const PEERS: [(&str, &str); 2] = [("numpy", "NumPy"), ("faiss", "FAISS, flat")];

/// Runs all three in turn; returns the text for the document.
///
/// # Errors
/// Fails if one of them cannot be built or run, or if their results differ.
pub(super) fn run(root: &Path, options: &Options) -> Result<String> {
    let mut build = command("cargo");
    build.args(["build", "--release", "--workspace", "--bins"]);
    execute(build.current_dir(root)).context("the trainer could not be built")?;
    let program = paths::release(root).join("trainer");
    let script = root.join(PEER);
    let mut python = options.python(&script)?;
    python.arg(script).arg("--trainer").arg(program);
    let sizes = [
        ("--texts", options.texts),
        ("--images", options.images),
        ("--width", options.width),
        ("--rounds", options.rounds),
        ("--threads", options.threads),
    ];
    for (flag, size) in sizes {
        python.arg(flag).arg(size.to_string());
    }
    let output = capture(&mut python)?;
    let last = output.lines().last().unwrap_or_default();
    let results: Value = serde_json::from_str(last)
        .with_context(|| format!("expected a JSON object, found `{last}`"))?;
    let table = table(&results).context("the peers printed no results")?;
    let flags: Vec<String> = sizes.iter().map(|(f, n)| format!("{f} {n}")).collect();
    Ok(format!(
        "- Machine: {}\n- Source: {}\n- Command: `cargo xtask bench --only retrieval {}`\n\n{table}",
        document::machine(),
        document::source(root, DOCUMENT),
        flags.join(" "),
    ))
}

/// Returns the values of one key in every round of a program.
fn each(results: &Value, program: &str, key: &str) -> Vec<f64> {
    let rounds = results[program].as_array().into_iter().flatten();
    rounds.filter_map(|round| round[key].as_f64()).collect()
}

/// Returns the peers compared with ours, as a Markdown table; `None` if our values are missing.
fn table(results: &Value) -> Option<String> {
    let (seconds, memory) = (
        each(results, "ours", "seconds"),
        each(results, "ours", "peak_mib"),
    );
    if seconds.is_empty() {
        return None;
    }
    let mut table = String::from(
        "| program | seconds | times as long (rounds) | peak memory, MiB | times as much |\n\
         |---|--:|--:|--:|--:|\n",
    );
    let _ = writeln!(
        table,
        "| Espalier | {:.2} | 1 | {:.0} | 1 |",
        median(&seconds),
        median(&memory)
    );
    for (key, name) in PEERS {
        if let Some(why) = results[key][0]["skipped"].as_str() {
            let _ = writeln!(table, "| {name} | not measured: {why} | – | – | – |");
            continue;
        }
        let theirs = each(results, key, "seconds");
        let peak = each(results, key, "peak_mib");
        let (ratio, rounds) = ratios(&theirs, &seconds);
        let (memory_ratio, _) = ratios(&peak, &memory);
        let _ = writeln!(
            table,
            "| {name} | {:.2} | **{ratio:.2}** ({rounds}) | {:.0} | **{memory_ratio:.2}** |",
            median(&theirs),
            median(&peak),
        );
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn peers_are_shown_with_their_ratios_to_our_program() {
        let round = |seconds: f64, peak: f64| json!({ "seconds": seconds, "peak_mib": peak });
        let table = table(&json!({
            "ours": [round(2.0, 100.0), round(4.0, 100.0)],
            "numpy": [round(4.0, 300.0), round(4.0, 300.0)],
            "faiss": [{ "skipped": "no faiss" }, { "skipped": "no faiss" }],
        }));
        let table = table.unwrap();
        let line = |index: usize| table.lines().nth(index).unwrap();
        assert_eq!(line(2), "| Espalier | 3.00 | 1 | 100 | 1 |");
        assert_eq!(
            line(3),
            "| NumPy | 4.00 | **1.50** (2.00, 1.00) | 300 | **3.00** |"
        );
        assert_eq!(
            line(4),
            "| FAISS, flat | not measured: no faiss | – | – | – |"
        );
        assert_eq!(super::table(&json!({})), None);
    }
}
