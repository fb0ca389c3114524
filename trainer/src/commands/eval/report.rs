//! Reports results as JSON, as tables and as an HTML page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use espalier_core::model::{DualConfig, Preset};
use espalier_data::formats::open;
use espalier_eval::embedder::Embedder;
use espalier_eval::report::html::{Section, page};
use espalier_eval::report::{images, table};
use espalier_eval::task::{Confusion, Context, TaskResult, value_name};
use espalier_eval::{Record, Task, published};
use espalier_io::disk::write::write_atomic;
use espalier_io::output::line;

use crate::cli::EvalArgs;

/// A result, with the additional data that only the HTML page shows.
pub(super) struct Evaluated {
    pub(super) record: Record,
    pub(super) confusions: Vec<Confusion>,
    pub(super) data: Vec<PathBuf>,
    pub(super) split: String,
}

/// Returns the JSON record of a task's outcome.
pub(super) fn record(
    args: &EvalArgs,
    embedder: Option<&Embedder<'_>>,
    task: &Task,
    cx: &Context<'_, '_>,
    outcome: TaskResult,
) -> Record {
    let model = embedder.map(|e| e.model);
    let precomputed = [&cx.options.image_embeddings, &cx.options.text_embeddings];
    let paths = cx.data.iter().chain(precomputed.into_iter().flatten());
    let mut record = Record {
        dataset: paths.map(|p| p.display().to_string()).collect(),
        benchmark: cx.dataset.map(str::to_owned).or(outcome.dataset),
        model: model.map_or_else(|| "embeddings".into(), |m| m.card.method.clone()),
        architecture: model.map(|m| architecture(&m.card.config)),
        pretrained: model.map_or_else(String::new, |m| m.file.display().to_string()),
        sha256: model.map_or_else(String::new, |m| m.sha256.clone()),
        task: task.name.into(),
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
            record.settings.insert("change".into(), value_name(&change));
        }
        None => record.published = published::matching(&record),
    }
    record
}

/// Names the architecture of a model: the preset with these encoders and this width of embeddings,
/// whatever the embedding space; a description where no preset has them, as for a bundle whose text
/// encoder has a size of its own.
fn architecture(config: &DualConfig) -> String {
    let image = Preset::of_image_encoder(&config.vision);
    let same_text = |preset: &Preset| {
        let other = preset.config();
        other.text == config.text && other.d_embed == config.d_embed
    };
    if let Some(preset) = image.filter(same_text) {
        return preset.name().to_owned();
    }
    let (vision, text) = (&config.vision, &config.text);
    let image = image.map_or_else(
        || {
            format!(
                "image encoder of {} blocks of width {} at {} px",
                vision.n_layers, vision.d_model, vision.image_size
            )
        },
        |preset| preset.name().to_owned(),
    );
    format!(
        "{image}; text encoder of {} blocks of width {}; embeddings of width {}",
        text.n_layers, text.d_model, config.d_embed
    )
}

/// Prints the results and writes the files that the flags name.
pub(super) fn report(args: &EvalArgs, results: &[Evaluated]) -> anyhow::Result<()> {
    let mut lines = String::new();
    for result in results {
        lines.push_str(&serde_json::to_string(&result.record)?);
        lines.push('\n');
    }
    if let Some(path) = &args.out {
        write_atomic(path, lines.as_bytes())?;
    }
    if let Some(path) = &args.report {
        write_page(path, results)?;
    }
    if args.common.json {
        return line(lines.trim_end());
    }
    for result in results {
        line(table::table(&result.record).trim_end())?;
    }
    for path in [&args.out, &args.report].into_iter().flatten() {
        line(format_args!("written to {}", path.display()))?;
    }
    Ok(())
}

fn write_page(path: &Path, results: &[Evaluated]) -> anyhow::Result<()> {
    let sections = results.iter().map(|result| Section {
        record: &result.record,
        confusions: &result.confusions,
        images: thumbnails(result),
    });
    write_atomic(path, page(&sections.collect::<Vec<_>>()).as_bytes())
}

/// Returns the images of wrong answers by key.
fn thumbnails(result: &Evaluated) -> BTreeMap<String, String> {
    let examples = result.confusions.iter().flat_map(|c| &c.examples);
    let keys: BTreeSet<String> = examples.cloned().collect();
    let dataset = result.record.benchmark.as_deref();
    match open::benchmark(&result.data, dataset, &result.split) {
        Ok(found) if !keys.is_empty() => images::thumbnails(found.data.as_ref(), &keys),
        _ => BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_has_an_architecture() {
        let mut config = Preset::EfficientnetLite0.config();
        assert_eq!(architecture(&config), "efficientnet_lite0");
        // As a bundle stores it.
        config.vision = config.vision.clone().folded();
        assert_eq!(architecture(&config), "efficientnet_lite0");
        config.text.n_layers = 3;
        let (text, width) = (config.text.d_model, config.d_embed);
        let expected = format!(
            "efficientnet_lite0; text encoder of 3 blocks of width {text}; embeddings of width {width}"
        );
        assert_eq!(architecture(&config), expected);
        config.vision.image_size = 32;
        assert!(architecture(&config).starts_with("image encoder of "));
    }
}
