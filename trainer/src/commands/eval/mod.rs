//! `trainer eval`.

mod report;
mod suite;

use std::collections::BTreeSet;
use std::path::PathBuf;

use burn::tensor::Device;

use self::report::{Done, record, report};
use crate::classifier_file;
use crate::cli::EvalArgs;
use crate::data::DataError;
use crate::eval::cache::{Cache, default_folder};
use crate::eval::embedder::{Embedder, Reading};
use crate::eval::task::Context;
use crate::eval::{Options, Task, tasks};
use crate::exit::{code, usage};
use crate::model_file::{self, Model};

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
    let classifier = match &args.options.classifier {
        Some(path) => Some(classifier_file::read(path, &device)?),
        None => None,
    };
    if let (Some(classifier), Some(model)) = (&classifier, &model) {
        let (reads, gives) = (classifier.d_feature(), model.card.config.vision.d_model);
        if reads != gives {
            return Err(usage(format!(
                "--classifier: expected one that reads the features of width {gives} of \
                 --checkpoint, found one of width {reads}"
            )));
        }
    }
    let embedder = model
        .as_ref()
        .map(|model| embedder(args, model, &device).with_classifier(classifier));
    let done = match args.suite {
        Some(_) => suite::whole(args, embedder.as_ref())?,
        None => named(args, embedder.as_ref())?,
    };
    report(args, &done)
}

fn embedder<'a>(args: &EvalArgs, model: &'a Model, device: &'a Device) -> Embedder<'a> {
    let folder = match (args.no_cache, &args.cache) {
        (true, _) => None,
        (false, Some(folder)) => Some(folder.clone()),
        (false, None) => Some(default_folder("embeddings")),
    };
    let reading = Reading {
        batch_size: args.options.batch_size,
        max_broken: args.options.max_broken,
        change: args.options.change,
        cache: Cache::new(folder),
    };
    Embedder::new(model, device, reading)
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
    let mut outcome = task.run(&cx).map_err(|error| {
        if is_about_data(&error) {
            let needs = squeezed(task.needs());
            usage(format!("{error:#}\n{} needs: {needs}", task.name()))
        } else {
            error
        }
    })?;
    let confusions = std::mem::take(&mut outcome.confusions);
    Ok(Done {
        record: record(args, embedder, task, &cx, outcome),
        confusions,
        data: data.to_vec(),
        split: options.split.clone(),
    })
}

/// Whether an error says that the data is another than the task needs, rather than what is wrong with
/// an option or with single records.
fn is_about_data(error: &anyhow::Error) -> bool {
    let data = error.chain().find_map(|c| c.downcast_ref::<DataError>());
    match data {
        Some(DataError::TooManyBroken { .. } | DataError::Setting { .. }) => false,
        Some(_) => code(error) == 2,
        None => code(error) == 2 && error.to_string().starts_with("--data"),
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
