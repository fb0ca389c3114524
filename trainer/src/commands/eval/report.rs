//! Reports results as JSON, as tables and as an HTML page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use espalier_core::model::Preset;

use crate::cli::EvalArgs;
use crate::data::formats::open;
use crate::disk::write::write_atomic;
use crate::eval::embedder::Embedder;
use crate::eval::published;
use crate::eval::report::html::{Section, page};
use crate::eval::report::{pictures, table};
use crate::eval::task::{Confusion, Context, TaskResult, word};
use crate::eval::{Record, Task};
use crate::model_file::Model;

/// A result, with the additional data that only the HTML page shows.
pub(super) struct Done {
    pub(super) record: Record,
    pub(super) confusions: Vec<Confusion>,
    pub(super) data: Vec<PathBuf>,
    pub(super) split: String,
}

/// Returns the JSON record of a task's outcome.
pub(super) fn record(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    task: &dyn Task,
    cx: &Context<'_>,
    outcome: TaskResult,
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
        coverage: outcome.coverage,
        metrics: outcome.metrics,
        curves: outcome.curves,
        published: Vec::new(),
    };
    match args.options.change {
        // Published values were measured on unchanged images.
        Some(change) => {
            record.settings.insert("change".into(), word(&change));
        }
        None => record.published = published::beside(&record),
    }
    record
}

/// Returns the name of a model's architecture, if it has one; compares the encoders and the width
/// of the embeddings, not the embedding space.
fn architecture(model: &Model) -> Option<&'static str> {
    let own = &model.card.config;
    let same = |preset: &Preset| {
        let of = preset.config();
        (of.vision == own.vision) && (of.text == own.text) && of.d_embed == own.d_embed
    };
    Preset::ALL.iter().find(|p| same(p)).map(|p| p.name())
}

/// Prints the results and writes the files that the flags name.
pub(super) fn report(args: &EvalArgs, done: &[Done]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for done in done {
        lines.push_str(&serde_json::to_string(&done.record)?);
        lines.push('\n');
    }
    if let Some(path) = &args.out {
        write_atomic(path, lines.as_bytes())?;
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
        let keys: BTreeSet<String> = done
            .confusions
            .iter()
            .flat_map(|c| c.examples.iter().cloned())
            .collect();
        let dataset = done.record.benchmark.as_deref();
        match open::benchmark(&done.data, dataset, &done.split) {
            Ok(found) if !keys.is_empty() => pictures::small(found.data.as_ref(), &keys),
            _ => BTreeMap::new(),
        }
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
    write_atomic(path, page(&sections).as_bytes())
}
