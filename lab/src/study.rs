//! `cargo xtask study`: trains methods from the same start, on the same data, for the same steps,
//! over several seeds, and evaluates each of them.
//!
//! A seed fixes the weights that are not loaded, the order of the data and all augmentation, for
//! all methods alike. The study can be interrupted: existing runs are continued, and measured
//! results are stored next to them.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use xtask::document;
use xtask::paths;
use xtask::process::{capture, command, run as execute};

use self::table::Results;

/// The document with the findings and a short table of each study.
const DOCUMENT: &str = "docs/study.md";

/// Suffix of a method's name that adds boxes as further pairs.
const BOXES: &str = "+boxes";

/// What to compare, on what, for how long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Kind of the data, as for `trainer fit --dataset`
    #[arg(long, default_value = "grit")]
    dataset: String,
    /// Data to train on
    #[arg(long, num_args = 1.., required = true, value_name = "PATH")]
    data: Vec<PathBuf>,
    /// Data to measure on, of other photos
    #[arg(long, num_args = 1.., required = true, value_name = "PATH")]
    val: Vec<PathBuf>,
    /// Checkpoint that every run starts from, with `{seed}` for its seed; none for random weights
    #[arg(long, value_name = "PATH")]
    init: Option<String>,
    /// Methods; `clip+boxes` and `meru+boxes` have boxes and their phrases as further pairs
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
    /// Device to compute on
    #[arg(long, default_value = "auto")]
    backend: String,
    /// Folder of the runs
    #[arg(long, default_value = "logs/study", value_name = "DIR")]
    logs: PathBuf,
    /// What is measured on `--val`
    #[arg(long, default_value = "zero-shot,hierarchy,retrieval,ordering")]
    tasks: String,
    /// Split of `--val` to measure on, as for `trainer eval --split`
    #[arg(long)]
    split: Option<String>,
    /// A further task and its own data, for example `hyperlex=hyperlex-dev.txt`; may be repeated
    #[arg(long, value_name = "TASK=PATH", value_parser = further_task)]
    also: Vec<(String, PathBuf)>,
    /// Taxonomy to train and measure with, as for `trainer eval --taxonomy`
    #[arg(long)]
    taxonomy: Option<String>,
    /// Which labels are compared, as for `trainer eval --classes`
    #[arg(long)]
    classes: Option<String>,
    /// Further keys of the configuration of every run, for example `train.patch_keep=0.5`; of some methods with
    /// their names before it, `meru,hycoclip:model.equal_image_radii=true`
    #[arg(last = true, value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// The trainer to use, for example one built for a GPU; built here if omitted
    #[arg(long, value_name = "PROGRAM")]
    trainer: Option<PathBuf>,
    /// Name of the study: its tables are those of docs/measurements/study-NAME.md
    #[arg(long, default_value = "labels")]
    name: String,
    /// Metrics of the short table, with their heads, for example `tau_d=order`
    #[arg(long, value_delimiter = ',', value_name = "METRIC=HEAD", value_parser = headed)]
    short: Vec<(String, String)>,
    /// Write the short table into docs/study.md and all tables into the study's own document
    #[arg(long)]
    write: bool,
}

/// Reads a metric with the head of its column; without one, the metric's name is the head.
fn headed(text: &str) -> Result<(String, String), String> {
    let (metric, head) = text.split_once('=').unwrap_or((text, text));
    if metric.is_empty() || head.is_empty() {
        return Err(format!("expected METRIC=HEAD, found `{text}`"));
    }
    Ok((metric.to_owned(), head.to_owned()))
}

fn further_task(text: &str) -> Result<(String, PathBuf), String> {
    let parts = text.split_once('=');
    let parts = parts.filter(|(task, path)| !task.is_empty() && !path.is_empty());
    let (task, path) = parts.ok_or_else(|| format!("expected TASK=PATH, found `{text}`"))?;
    Ok((task.to_owned(), path.into()))
}

/// Trains missing runs, evaluates all, prints the table and, with `--write`, stores it.
///
/// # Errors
/// Fails if a run or its evaluation fails; completed runs are kept.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    if options.seeds == 0 || options.methods.is_empty() {
        bail!("expected at least one seed and one method");
    }
    if options.trainer.is_none() {
        let build = ["build", "--release", "--workspace", "--bins"];
        execute(command("cargo").args(build).current_dir(root))?;
    }
    let mut results = Results::new();
    // Completes one seed before the next, so that an interrupted study has comparable results.
    for seed in 0..options.seeds {
        for method in &options.methods {
            let name = format!("{method}-seed{seed}");
            execute(&mut fit(root, options, method, seed, &name))
                .with_context(|| format!("training {name}"))?;
            let lines =
                metrics(root, options, &name).with_context(|| format!("measuring {name}"))?;
            table::collect(&mut results, method, &lines)?;
        }
        println!(
            "after {} of {} seeds\n\n{}",
            seed + 1,
            options.seeds,
            table::values(&results, &options.methods)
        );
    }
    let text = format!(
        "{}\n{}\n{}",
        settings(root, options),
        table::values(&results, &options.methods),
        table::differences(&results, &options.methods)
    );
    let short = table::short(&results, &options.methods, &options.short);
    println!("\n{short}");
    if options.write {
        let name = format!("study --name {}", options.name);
        document::insert(root, DOCUMENT, &name, &short)?;
        document::insert(root, &appendix(options), &name, &text)?;
    }
    Ok(())
}

/// Returns the document of all tables of a study.
fn appendix(options: &Options) -> String {
    format!("docs/measurements/study-{}.md", options.name)
}

fn trainer(root: &Path, options: &Options) -> Command {
    let built = || paths::release(root).join("trainer");
    command(options.trainer.clone().unwrap_or_else(built))
}

fn fit(root: &Path, options: &Options, method: &str, seed: u64, name: &str) -> Command {
    let mut fit = trainer(root, options);
    let base_method = method.strip_suffix(BOXES).unwrap_or(method);
    fit.args(["fit", "--dataset", &options.dataset]);
    fit.args(["--method", base_method, "--name", name]);
    if let Some(init) = &options.init {
        fit.arg("--init")
            .arg(init.replace("{seed}", &seed.to_string()));
    }
    fit.arg("--data").args(&options.data);
    fit.arg("--logs").arg(&options.logs);
    fit.args(["--seed", &seed.to_string()]);
    fit.args(["--steps", &options.steps.to_string()]);
    fit.args(["--batch-size", &options.batch_size.to_string()]);
    fit.args(["--backend", &options.backend]);
    if options.logs.join(name).join("config.toml").is_file() {
        fit.args(["--resume", "latest"]);
    }
    if base_method != method {
        fit.arg("loss.boxes_as_pairs=true");
    }
    if let Some(taxonomy) = &options.taxonomy {
        fit.arg(format!("dataset.taxonomy={taxonomy}"));
    }
    let pairs = options.pairs.iter();
    fit.args(pairs.filter_map(|pair| pair_of(pair, method)));
    fit
}

/// Returns the `key=value` of a pair, unless it is for other methods.
fn pair_of<'a>(pair: &'a str, method: &str) -> Option<&'a str> {
    let (before, _) = pair.split_once('=').unwrap_or((pair, ""));
    match before.split_once(':') {
        Some((methods, _)) => {
            let is_meant = methods.split(',').any(|named| named == method);
            is_meant.then_some(&pair[methods.len() + 1..])
        }
        None => Some(pair),
    }
}

/// Returns the metrics of a run, one JSON object per task: as stored next to the run, or measured
/// now.
fn metrics(root: &Path, options: &Options, name: &str) -> Result<String> {
    let run = options.logs.join(name);
    let last = fs::read_to_string(run.join("last_checkpoint.txt"))
        .with_context(|| format!("{} has no checkpoint", run.display()))?;
    let evals = evals(root, options, &run);
    // Measures again if anything that the result depends on has changed.
    let inputs = format!("{} {evals:?}", last.trim());
    let file = run.join("study.jsonl");
    if let Some((stored_inputs, lines)) = fs::read_to_string(&file)
        .ok()
        .as_deref()
        .and_then(|t| t.split_once('\n'))
        && stored_inputs == inputs
    {
        return Ok(lines.to_owned());
    }
    let mut lines = String::new();
    for mut eval in evals {
        lines.push_str(&capture(&mut eval)?);
    }
    fs::write(&file, format!("{inputs}\n{lines}"))?;
    Ok(lines)
}

fn evals(root: &Path, options: &Options, run: &Path) -> Vec<Command> {
    let eval = |tasks: &str, data: &[PathBuf]| {
        let mut eval = trainer(root, options);
        eval.args(["eval", "--json", "--backend", &options.backend]);
        eval.args(["--task", tasks]);
        eval.arg("--checkpoint").arg(run);
        eval.arg("--data").args(data);
        for (flag, value) in [
            ("--taxonomy", &options.taxonomy),
            ("--classes", &options.classes),
            ("--split", &options.split),
        ] {
            value.iter().for_each(|value| {
                eval.args([flag, value]);
            });
        }
        eval
    };
    let further_task = options.also.iter();
    std::iter::once(eval(&options.tasks, &options.val))
        .chain(further_task.map(|(task, path)| eval(task, std::slice::from_ref(path))))
        .collect()
}

/// `key=value` without the folders of a path, which differ from machine to machine.
fn without_folders(pair: &str) -> String {
    match pair.split_once('=') {
        Some((key, value)) => format!("{key}={}", value.rsplit('/').next().unwrap_or_default()),
        None => pair.to_owned(),
    }
}

/// Returns the settings of the study, for the document.
fn settings(root: &Path, options: &Options) -> String {
    let start = options.init.as_ref().map_or("", |_| "--init … ");
    let pairs = options.pairs.iter().map(|pair| without_folders(pair));
    let pairs: Vec<String> = pairs.collect();
    let more = match pairs.is_empty() {
        true => String::new(),
        false => format!(" -- {}", pairs.join(" ")),
    };
    format!(
        "- Machine: {}\n- Source: {}\n- Command: `cargo xtask study --dataset {} --data … --val … {start}--methods {} \
         --seeds {} --steps {} --batch-size {}{more}`; {} files to train on, {} to measure on\n\
         - Cells: mean ± sample standard deviation over {} seeds\n",
        document::machine(),
        document::source(root, &appendix(options)),
        options.dataset,
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
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(more: &[&str]) -> Options {
        let line = ["study", "--data", "a", "--val", "b", "--trainer", "t"];
        Line::parse_from(line.iter().chain(more)).options
    }

    fn words(command: &Command) -> String {
        let words: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn folders_of_this_machine_are_omitted() {
        assert_eq!(
            without_folders("dataset.nouns=/a/b/nouns.tsv.gz"),
            "dataset.nouns=nouns.tsv.gz"
        );
        assert_eq!(without_folders("optim.lr=2e-3"), "optim.lr=2e-3");
    }

    #[test]
    fn a_run_starts_from_the_checkpoint_of_its_seed_and_uses_boxes_if_its_method_does() {
        let options = options(&["--init", "start-{seed}", "--taxonomy", "imagenet"]);
        let line = words(&fit(Path::new("."), &options, "meru+boxes", 3, "x"));
        assert!(
            line.contains("--method meru --name x --init start-3"),
            "{line}"
        );
        assert!(
            line.contains("loss.boxes_as_pairs=true dataset.taxonomy=imagenet"),
            "{line}"
        );
        let line = words(&fit(Path::new("."), &options, "meru", 3, "x"));
        assert!(!line.contains("boxes"), "{line}");
    }

    #[test]
    fn a_pair_with_names_before_it_is_for_these_methods() {
        let pair = "meru,hycoclip:model.equal_image_radii=true";
        assert_eq!(pair_of(pair, "meru"), Some("model.equal_image_radii=true"));
        assert_eq!(pair_of(pair, "clip"), None);
        assert_eq!(pair_of("dataset.x=a:b", "clip"), Some("dataset.x=a:b"));
    }

    #[test]
    fn further_tasks_are_measured_on_their_own_data() {
        let options = options(&["--also", "hyperlex=pairs.txt", "--classes", "all"]);
        let lines: Vec<String> = evals(Path::new("."), &options, Path::new("run"))
            .iter()
            .map(words)
            .collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("--data b --classes all"), "{}", lines[0]);
        assert!(
            lines[1].contains("--task hyperlex --checkpoint run --data pairs.txt"),
            "{}",
            lines[1]
        );
        assert!(further_task("hyperlex").is_err());
    }
}
