//! `trainer eval`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use espalier_core::model::Preset;

use crate::cli::EvalArgs;
use crate::eval::cache::Cache;
use crate::eval::embedder::{Embedder, Reading};
use crate::eval::published;
use crate::eval::report::html::{Section, page};
use crate::eval::report::{pictures, table};
use crate::eval::suite::{self, Planned, beside};
use crate::eval::task::{Confusion, Context, Outcome};
use crate::eval::{Options, Record, Task, tasks};
use crate::exit::{code, usage};
use crate::fit::checkpoint::write_whole;
use crate::model_file::{self, Model};

/// A result with what only the page shows.
struct Done {
    record: Record,
    confusions: Vec<Confusion>,
    data: Vec<PathBuf>,
}

/// Measure a model and print or write one object a task.
///
/// # Errors
/// Bad usage or data (exit code 2), or a failing device (1).
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let device = args.common.backend.device()?;
    let model = args
        .checkpoint
        .as_ref()
        .map(|path| model_file::open(path, &device))
        .transpose()?;
    if model.is_none() && args.options.image_embeddings.is_none() {
        return Err(usage(
            "expected --checkpoint, or --image-embeddings and --text-embeddings",
        ));
    }
    let embedder = model.as_ref().map(|model| embedder(args, model, &device));
    let done = match args.suite {
        Some(_) => whole_suite(args, embedder.as_ref())?,
        None => named(args, embedder.as_ref())?,
    };
    report(args, &done)
}

fn embedder<'a>(args: &EvalArgs, model: &'a Model, device: &'a Device) -> Embedder<'a> {
    let folder = match (args.no_cache, &args.cache) {
        (true, _) => None,
        (false, Some(folder)) => Some(folder.clone()),
        (false, None) => Some(default_cache()),
    };
    let reading = Reading {
        batch_size: args.options.batch_size,
        max_broken: args.options.max_broken,
        cache: Cache::new(folder),
    };
    Embedder::new(model, device, reading)
}

/// Where embeddings are kept that outlive a run: the user's cache folder.
fn default_cache() -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("espalier")
        .join("embeddings")
}

/// The tasks that were named, each once, in the order of [`tasks::ALL`].
fn named(args: &EvalArgs, embedder: Option<&Embedder<'_>>) -> anyhow::Result<Vec<Done>> {
    let wanted: BTreeSet<&str> = args.task.iter().map(String::as_str).collect();
    for name in &wanted {
        tasks::find(name)?;
    }
    let chosen = tasks::ALL
        .iter()
        .filter(|task| wanted.contains(task.name()));
    chosen
        .map(|task| {
            let dataset = args.options.dataset_name.as_deref();
            one(args, embedder, *task, &args.options, &args.data, dataset)
        })
        .collect()
}

/// Every benchmark of the suite that is there.
fn whole_suite(args: &EvalArgs, embedder: Option<&Embedder<'_>>) -> anyhow::Result<Vec<Done>> {
    let [folder] = args.data.as_slice() else {
        return Err(usage(
            "--suite: expected --data DIR with a folder a benchmark",
        ));
    };
    if !folder.is_dir() {
        return Err(usage(format!(
            "--data {}: expected a folder, found none",
            folder.display()
        )));
    }
    let (found, absent) = suite::plan(folder);
    eprintln!(
        "not found below {}:\n{}",
        folder.display(),
        suite::missing(&absent)
    );
    if found.is_empty() {
        return Err(usage(format!(
            "{}: found none of the suite's {} benchmarks; how they must lie is listed above",
            folder.display(),
            absent.len()
        )));
    }
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for planned in &found {
        match of_suite(args, embedder, planned) {
            Ok(result) => done.push(result),
            // Broken data of one benchmark does not hide the others; a failing device does.
            Err(error) if code(&error) == 2 => {
                eprintln!(
                    "{} on {}: {error:#}",
                    planned.task.name(),
                    planned.place.dataset
                );
                failed.push(planned.place.dataset);
            }
            Err(error) => return Err(error),
        }
    }
    if !failed.is_empty() {
        report(args, &done)?;
        return Err(usage(format!(
            "these benchmarks cannot be used: {}",
            failed.join(", ")
        )));
    }
    Ok(done)
}

fn of_suite(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    planned: &Planned,
) -> anyhow::Result<Done> {
    let mut options = args.options.clone();
    let path = &planned.path;
    options.class_names = options
        .class_names
        .or_else(|| beside(path, &["classnames.tsv"]));
    options.taxonomy = options
        .taxonomy
        .or_else(|| beside(path, &["taxonomy.tsv", "imagenet_isa.txt"]));
    let data = std::slice::from_ref(path);
    one(
        args,
        embedder,
        planned.task,
        &options,
        data,
        Some(planned.place.dataset),
    )
}

/// Run a task on some data.
fn one(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    task: &dyn Task,
    options: &Options,
    data: &[PathBuf],
    dataset: Option<&str>,
) -> anyhow::Result<Done> {
    let cx = Context {
        embedder,
        options,
        data,
        dataset,
    };
    let mut outcome = task.run(&cx).map_err(|error| match code(&error) {
        2 => usage(format!(
            "{error:#}\n{} needs: {}",
            task.name(),
            squeezed(task.needs())
        )),
        _ => error,
    })?;
    let confusions = std::mem::take(&mut outcome.confusions);
    Ok(Done {
        record: record(args, embedder, task, &cx, outcome),
        confusions,
        data: data.to_vec(),
    })
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn record(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    task: &dyn Task,
    cx: &Context<'_>,
    outcome: Outcome,
) -> Record {
    let model = embedder.map(|e| e.model);
    let brought = [&cx.options.image_embeddings, &cx.options.text_embeddings];
    let mut dataset: Vec<String> = cx.data.iter().map(|p| p.display().to_string()).collect();
    dataset.extend(
        brought
            .into_iter()
            .flatten()
            .map(|p| p.display().to_string()),
    );
    let mut record = Record {
        dataset,
        benchmark: cx.dataset.map(str::to_owned).or(outcome.dataset),
        model: model.map_or_else(|| "embeddings".into(), |m| m.card.method.clone()),
        architecture: model.and_then(architecture).map(str::to_owned),
        pretrained: model.map_or_else(String::new, |m| m.file.display().to_string()),
        sha256: model.map_or_else(String::new, |m| m.sha256.clone()),
        task: task.name().into(),
        language: "en".into(),
        prompts: outcome.prompts,
        backend: args.common.backend.resolve().name().into(),
        n: outcome.n,
        left_out: outcome.left_out,
        classes: outcome.classes,
        seed: cx.options.seed,
        settings: outcome.settings,
        ledger: outcome.ledger,
        metrics: outcome.metrics,
        published: Vec::new(),
    };
    record.published = published::beside(&record);
    record
}

/// The name of a model's architecture, if it has one: towers and width, whatever the space.
fn architecture(model: &Model) -> Option<&'static str> {
    let own = &model.card.config;
    let same = |preset: &Preset| {
        let of = preset.config();
        (of.vision == own.vision) && (of.text == own.text) && of.d_embed == own.d_embed
    };
    Preset::ALL.iter().find(|p| same(p)).map(|p| p.name())
}

fn report(args: &EvalArgs, done: &[Done]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for done in done {
        lines.push_str(&serde_json::to_string(&done.record)?);
        lines.push('\n');
    }
    if let Some(path) = &args.out {
        write_whole(path, lines.as_bytes())?;
    }
    if let Some(path) = &args.report {
        write_page(path, done)?;
    }
    if args.common.json {
        print!("{lines}");
        return Ok(());
    }
    for done in done {
        print!("{}", table::table(&done.record));
    }
    for path in [&args.out, &args.report].into_iter().flatten() {
        println!("written to {}", path.display());
    }
    Ok(())
}

fn write_page(path: &Path, done: &[Done]) -> anyhow::Result<()> {
    let section = |done: &'_ Done| {
        let keys = done
            .confusions
            .iter()
            .flat_map(|c| c.examples.iter().cloned())
            .collect();
        pictures::small(&done.data, &keys)
    };
    let found: Vec<BTreeMap<String, String>> = done.iter().map(section).collect();
    let sections: Vec<Section<'_>> = done
        .iter()
        .zip(found)
        .map(|(done, pictures)| Section {
            record: &done.record,
            confusions: &done.confusions,
            pictures,
        })
        .collect();
    write_whole(path, page(&sections).as_bytes())
}
