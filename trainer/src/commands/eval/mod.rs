//! `trainer eval`.

mod one;
mod report;
mod results;
mod suite;

use std::collections::BTreeSet;
use std::rc::Rc;

use burn::tensor::Device;
use espalier_checkpoints::classifier_file;
use espalier_checkpoints::model_file::Model;
use espalier_eval::cache::Cache;
use espalier_eval::embedder::{Check, EmbedOptions, Embedder};
use espalier_eval::{Record, tasks};
use espalier_io::disk::cache::cache_folder;
use espalier_io::disk::write::check_file;
use espalier_io::exit::usage;
use espalier_io::ranks::{self, Collective, Single};

use self::one::run_task;
use self::report::report;
use self::results::Results;
use super::opened;
use super::together::{end_all, numbered_device, own_cores};
use crate::cli::EvalArgs;

/// Evaluates a model and prints or writes one object per task. Several processes that a launcher
/// started embed the inputs together; rank 0 reports.
///
/// # Errors
/// Bad usage or data (exit code 2), or a device failure (1).
pub fn run(args: &EvalArgs) -> anyhow::Result<()> {
    let ranks = ranks::start()?;
    evaluate(args, &ranks).map_err(|error| end_all(&ranks, error))
}

fn evaluate(args: &EvalArgs, ranks: &Rc<dyn Collective>) -> anyhow::Result<()> {
    for (flag, file) in [("--out", &args.out), ("--report", &args.report)] {
        if let Some(file) = file {
            check_file(flag, file)?;
        }
    }
    let device = numbered_device(args.common.backend, &**ranks)?;
    let model = args
        .checkpoint
        .as_ref()
        .map(|path| opened::open(path, &device))
        .transpose()?;
    if let Some(model) = model.as_ref().filter(|_| ranks.is_root()) {
        opened::tell(&model.cautions);
    }
    let results = results(args, (model.as_ref(), &device), ranks, &|| Ok(()))?;
    if ranks.is_root() && !results.done.is_empty() {
        report(args, &results.done)?;
    }
    results.check()
}

/// Evaluates an opened model in this process and returns one record per task; reads only the tasks,
/// their data and their options of `args`. `check` is called again and again and stops the work with its
/// error.
///
/// # Errors
/// Bad usage or data, a device failure, or the error of `check`.
pub fn records(
    args: &EvalArgs,
    (model, device): (Option<&Model>, &Device),
    check: Check<'_>,
) -> anyhow::Result<Vec<Record>> {
    let ranks: Rc<dyn Collective> = Rc::new(Single);
    let results = results(args, (model, device), &ranks, check)?;
    results.check()?;
    let records = results.done.into_iter().map(|result| result.record);
    Ok(records.collect())
}

fn results(
    args: &EvalArgs,
    (model, device): (Option<&Model>, &Device),
    ranks: &Rc<dyn Collective>,
    check: Check<'_>,
) -> anyhow::Result<Results> {
    if model.is_none() && args.options.image_embeddings.is_none() {
        return Err(usage(
            "expected --checkpoint, or --image-embeddings and --text-embeddings, found neither",
        ));
    }
    let classifier = match &args.options.classifier {
        Some(path) => Some(classifier_file::read(path, device)?),
        None => None,
    };
    if let (Some(classifier), Some(model)) = (&classifier, model) {
        let (found, expected) = (classifier.d_feature(), model.card.config.vision.d_model);
        if found != expected {
            return Err(usage(format!(
                "--classifier: expected a classifier for features of width {expected}, the width of \
                 --checkpoint, found width {found}"
            )));
        }
    }
    let embedder = model.map(|model| {
        let embedder = make_embedder(args, model, device, ranks);
        embedder.with_classifier(classifier).checked(check)
    });
    match args.suite {
        Some(_) => suite::run_suite(args, embedder.as_ref()),
        None => run_named(args, embedder.as_ref()),
    }
}

fn make_embedder<'a>(
    args: &EvalArgs,
    model: &'a Model,
    device: &'a Device,
    ranks: &Rc<dyn Collective>,
) -> Embedder<'a> {
    let folder = args.cache.clone();
    let folder = folder.unwrap_or_else(|| cache_folder("embeddings"));
    let options = EmbedOptions {
        batch_size: args.options.batch_size,
        workers: own_cores(&**ranks),
        max_broken: args.options.max_broken,
        change: args.options.change,
        cache: Cache::new((!args.no_cache).then_some(folder)),
    };
    Embedder::new(model, device, options, Rc::clone(ranks))
}

/// Runs the named tasks, each once, in the order of [`tasks::ALL`].
fn run_named(args: &EvalArgs, embedder: Option<&Embedder<'_>>) -> anyhow::Result<Results> {
    let names: BTreeSet<&str> = args.task.iter().map(String::as_str).collect();
    for name in &names {
        tasks::find(name)?;
    }
    let chosen = tasks::ALL.iter().filter(|task| names.contains(task.name));
    let mut results = Results::default();
    for task in chosen {
        let dataset = args.options.dataset_name.as_deref();
        let result = run_task(args, embedder, task, &args.options, &args.data, dataset);
        // The error of a single task keeps its kind.
        if names.len() == 1 {
            results.done.push(result?);
        } else {
            results.add(task.name, result)?;
        }
    }
    Ok(results)
}
