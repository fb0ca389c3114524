//! Reads the metrics that runs wrote to `metrics.jsonl`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::disk::read;
use crate::disk::run_folder::METRICS;
use crate::exit::usage;

/// Prefix of the names of values that were measured on validation data.
const VALIDATION: &str = "val_";

/// Values that count something and are no curves.
const COUNTERS: [&str; 6] = ["step", "epoch", "index", "samples", "skipped", "elapsed_s"];

/// Values that every run has, in the order of the figure; those of the method stand between the first
/// and the others.
const FIRST: &str = "loss";
const LAST: [&str; 4] = ["grad_norm", "lr", "images_per_s", "peak_memory_mib"];

/// A value over the steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Series {
    /// Step and value, ascending.
    pub training: Vec<[f64; 2]>,
    /// The same on validation data; empty if it was not measured.
    pub validation: Vec<[f64; 2]>,
}

/// The metrics of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunMetrics {
    /// Name of its folder.
    pub name: String,
    /// Values by name.
    pub series: BTreeMap<String, Series>,
}

impl RunMetrics {
    /// Reads the metrics of the run in a folder, or a file of metrics.
    ///
    /// # Errors
    /// Bad usage for a file that cannot be read, holds no metrics, or has a line that is no JSON
    /// object with a step.
    pub fn read(run: &Path) -> anyhow::Result<Self> {
        let file = match run.is_dir() {
            true => run.join(METRICS),
            false => run.to_owned(),
        };
        let text = read::text(&file).map_err(|e| {
            usage(format!(
                "{}: expected the metrics of a run (its folder, with train.report_to = [\"jsonl\"]): {e}",
                file.display()
            ))
        })?;
        let mut series: BTreeMap<String, Series> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let (step, values) = point(line).map_err(|reason| {
                usage(format!("{}, line {}: {reason}", file.display(), at + 1))
            })?;
            for (name, value) in values {
                match name.strip_prefix(VALIDATION) {
                    Some(name) => {
                        let found = series.entry(name.to_owned()).or_default();
                        found.validation.push([step, value]);
                    }
                    None => series.entry(name).or_default().training.push([step, value]),
                }
            }
        }
        if series.is_empty() {
            return Err(usage(format!(
                "{}: expected metrics, found none; the run has not reported a step yet",
                file.display()
            )));
        }
        let folder = match run.is_dir() {
            true => run.canonicalize().unwrap_or_else(|_| run.to_owned()),
            false => PathBuf::from(file.file_stem().unwrap_or_default()),
        };
        let name = folder.file_name().unwrap_or_default();
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            series,
        })
    }
}

/// Reads a line: its step and the finite values that are no counters.
fn point(line: &str) -> Result<(f64, Vec<(String, f64)>), String> {
    let values: Map<String, Value> =
        serde_json::from_str(line).map_err(|e| format!("expected a JSON object: {e}"))?;
    let step = values.get("step").and_then(Value::as_f64);
    let step = step.ok_or("expected a number `step`, found none")?;
    let values = values.into_iter().filter_map(|(name, value)| {
        let value = value.as_f64().filter(|value| value.is_finite())?;
        (!COUNTERS.contains(&name.as_str())).then_some((name, value))
    });
    Ok((step, values.collect()))
}

/// Returns the names of the values of some runs in the order of the figure.
pub fn names(runs: &[RunMetrics]) -> Vec<&str> {
    let mut names: Vec<&str> = runs
        .iter()
        .flat_map(|run| run.series.keys().map(String::as_str))
        .collect();
    let rank = |name: &str| match LAST.iter().position(|last| *last == name) {
        Some(at) => 2 + at,
        None => usize::from(name != FIRST),
    };
    names.sort_unstable_by_key(|name| (rank(name), *name));
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<RunMetrics> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(METRICS), text).unwrap();
        RunMetrics::read(dir.path())
    }

    #[test]
    fn values_of_training_and_validation_share_a_series() {
        let run = read(
            "{\"step\":1,\"loss\":2.5,\"lr\":0.1,\"samples\":8,\"grad_norm\":null}\n\
             {\"step\":2,\"loss\":2.0,\"val_loss\":2.25,\"contrast\":1.0,\"lr\":0.2}\n",
        )
        .unwrap();
        assert_eq!(run.series["loss"].training, [[1.0, 2.5], [2.0, 2.0]]);
        assert_eq!(run.series["loss"].validation, [[2.0, 2.25]]);
        assert_eq!(names(&[run]), ["loss", "contrast", "lr"]);
    }

    #[test]
    fn a_line_that_is_no_metrics_is_refused_with_its_place() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("{\"step\":1,\"loss\":2}\n{\"st").contains("metrics.jsonl, line 2: "));
        assert!(error("{\"loss\":2}\n").contains("line 1: expected a number `step`"));
        assert!(error("").contains("expected metrics, found none"));
    }
}
