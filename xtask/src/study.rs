//! `cargo xtask study`: methods trained from the same start, on the same data, for the same steps,
//! over several seeds, and what each is worth afterwards.
//!
//! A seed fixes the weights of both towers, the order of the data and all augmentation, for every
//! method alike. The study can be interrupted: runs that are there are continued.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::document;
use crate::process::{capture, command, run as execute};

const DOCUMENT: &str = "docs/study.md";

/// What is measured of each run.
const TASKS: &str = "zero-shot,hierarchy,retrieval,ordering";

/// Values that are no result: what chance would give.
const ASIDE: [&str; 1] = ["chance"];

/// What to compare, on what, for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Shards to train on, as for `trainer fit --dataset grit`
    #[arg(long, num_args = 1.., required = true, value_name = "PATH")]
    data: Vec<PathBuf>,
    /// Shards to measure on, of other photos
    #[arg(long, num_args = 1.., required = true, value_name = "PATH")]
    val: Vec<PathBuf>,
    /// Methods
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "clip,meru,hycoclip,phyclip"
    )]
    methods: Vec<String>,
    /// Seeds, from 0 on
    #[arg(long, default_value_t = 3)]
    seeds: u64,
    /// Steps of each run; the default is a night on two cores
    #[arg(long, default_value_t = 1200)]
    steps: u64,
    /// Samples of a step
    #[arg(long, default_value_t = 64)]
    batch_size: u64,
    /// Where to compute
    #[arg(long, default_value = "auto")]
    backend: String,
    /// Folder of the runs
    #[arg(long, default_value = "logs/study", value_name = "DIR")]
    logs: PathBuf,
    /// Further keys of the configuration of every run, for example `train.patch_keep=0.5`
    #[arg(last = true, value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// The trainer to use, for example one built for a GPU; built here where this is not given
    #[arg(long, value_name = "PROGRAM")]
    trainer: Option<PathBuf>,
    /// Write the table into docs/study.md
    #[arg(long)]
    write: bool,
}

/// Values by task and metric, of each method the seeds' values.
type Found = BTreeMap<(String, String), BTreeMap<String, Vec<f64>>>;

/// Trains what is missing, measures all, prints the table and, if asked for, keeps it.
///
/// # Errors
/// Fails where a run or its measurement fails; runs that ended stay.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.seeds == 0 || options.methods.is_empty() {
        bail!("expected at least one seed and one method");
    }
    if options.trainer.is_none() {
        let build = ["build", "--release", "--workspace", "--bins"];
        execute(command("cargo").args(build).current_dir(root))?;
    }
    let mut found = Found::new();
    // Whole seeds first, so that what an interrupted study has is comparable.
    for seed in 0..options.seeds {
        for method in &options.methods {
            let name = format!("{method}-seed{seed}");
            execute(&mut fit(root, options, method, seed, &name))
                .with_context(|| format!("training {name}"))?;
            let lines = capture(&mut eval(root, options, &name))
                .with_context(|| format!("measuring {name}"))?;
            collect(&mut found, method, &lines)?;
        }
        println!(
            "after {} of {} seeds\n\n{}",
            seed + 1,
            options.seeds,
            table(&found, options)
        );
    }
    let text = format!(
        "{}\n{}",
        circumstances(root, options),
        table(&found, options)
    );
    if options.write {
        document::keep(root, DOCUMENT, "study", &text)?;
    }
    Ok(())
}

fn trainer(root: &Path, options: &Options) -> Command {
    let built = || root.join("target/release/trainer");
    command(options.trainer.clone().unwrap_or_else(built))
}

fn fit(root: &Path, options: &Options, method: &str, seed: u64, name: &str) -> Command {
    let mut fit = trainer(root, options);
    fit.args([
        "fit",
        "--dataset",
        "grit",
        "--method",
        method,
        "--name",
        name,
    ]);
    fit.arg("--data").args(&options.data);
    fit.arg("--logs").arg(&options.logs);
    fit.args(["--seed", &seed.to_string()]);
    fit.args(["--steps", &options.steps.to_string()]);
    fit.args(["--batch-size", &options.batch_size.to_string()]);
    fit.args(["--backend", &options.backend]);
    if options.logs.join(name).join("config.toml").is_file() {
        fit.args(["--resume", "latest"]);
    }
    fit.args(&options.pairs);
    fit
}

fn eval(root: &Path, options: &Options, name: &str) -> Command {
    let mut eval = trainer(root, options);
    eval.args([
        "eval",
        "--task",
        TASKS,
        "--json",
        "--backend",
        &options.backend,
    ]);
    eval.arg("--checkpoint").arg(options.logs.join(name));
    eval.arg("--data").args(&options.val);
    eval
}

/// Adds the metrics of a run, one JSON object a task.
fn collect(found: &mut Found, method: &str, lines: &str) -> Result<()> {
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line)
            .with_context(|| format!("expected a JSON object, found `{line}`"))?;
        let task = record["task"].as_str().unwrap_or_default();
        for (metric, value) in record["metrics"].as_object().into_iter().flatten() {
            let (false, Some(value)) = (ASIDE.contains(&metric.as_str()), value.as_f64()) else {
                continue;
            };
            let methods = found.entry((task.to_owned(), metric.clone())).or_default();
            methods.entry(method.to_owned()).or_default().push(value);
        }
    }
    Ok(())
}

/// Mean and sample standard deviation; the latter none of a single value.
fn mean_and_spread(values: &[f64]) -> (f64, Option<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (
        mean,
        (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
    )
}

/// One row a metric, one column a method: mean ± standard deviation.
fn table(found: &Found, options: &Options) -> String {
    let mut table = format!("| task | metric | {} |\n", options.methods.join(" | "));
    let _ = writeln!(table, "|---|---|{}", "--:|".repeat(options.methods.len()));
    for ((task, metric), methods) in found {
        let cell = |method: &String| {
            let Some(values) = methods.get(method) else {
                return "–".to_owned();
            };
            match mean_and_spread(values) {
                (mean, Some(spread)) => format!("{mean:.4} ± {spread:.4}"),
                (mean, None) => format!("{mean:.4}"),
            }
        };
        let cells: Vec<String> = options.methods.iter().map(cell).collect();
        let _ = writeln!(table, "| {task} | `{metric}` | {} |", cells.join(" | "));
    }
    table
}

/// What the table belongs to.
fn circumstances(root: &Path, options: &Options) -> String {
    let more = if options.pairs.is_empty() {
        String::new()
    } else {
        format!(" -- {}", options.pairs.join(" "))
    };
    format!(
        "- Machine: {}\n- Source: {}\n- Command: `cargo xtask study --data … --val … --methods {} \
         --seeds {} --steps {} --batch-size {}{more}`; {} files to train on, {} to measure on\n\
         - Cells: mean ± sample standard deviation over {} seeds\n",
        document::machine(),
        document::source(root, DOCUMENT),
        options.methods.join(","),
        options.seeds,
        options.steps,
        options.batch_size,
        options.data.len(),
        options.val.len(),
        options.seeds,
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn the_table_shows_mean_and_spread_of_the_seeds() {
        let line = [
            "study",
            "--data",
            "a",
            "--val",
            "b",
            "--methods",
            "clip,meru",
        ];
        let options = Line::parse_from(line).options;
        let mut found = Found::new();
        for (method, value) in [("clip", 0.1), ("meru", 0.5), ("clip", 0.3)] {
            let record = serde_json::json!({
                "task": "zero-shot", "metrics": { "acc1": value, "chance": 0.005 },
            });
            collect(&mut found, method, &record.to_string()).unwrap();
        }
        let table = table(&found, &options);
        assert!(
            table.ends_with("| zero-shot | `acc1` | 0.2000 ± 0.1414 | 0.5000 |\n"),
            "{table}"
        );
        assert!(!table.contains("chance"), "{table}");
    }

    #[test]
    fn what_is_no_record_is_said() {
        let error = collect(&mut Found::new(), "clip", "oops").unwrap_err();
        assert!(error.to_string().contains("`oops`"), "{error}");
    }
}
