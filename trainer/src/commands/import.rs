//! `trainer import`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_checkpoints::classifier_file::{self, Parts};
use espalier_checkpoints::import::efficientnet::{self, Settings};
use espalier_checkpoints::import::labels;
use espalier_checkpoints::import::pipeline::{self, About, Plan};
use espalier_checkpoints::import::sentence;
use espalier_checkpoints::import::source::Files;
use espalier_checkpoints::import::store::Store;
use espalier_checkpoints::layout::Layout;
use espalier_checkpoints::model_file::ModelCard;
use espalier_core::weights::Tensors;
use espalier_io::disk::run_folder::{CLASSIFIER, MODEL};
use espalier_io::exit::usage;
use espalier_io::output::line;
use serde_json::{Value, json};

use crate::cli::ImportArgs;

/// Returns the weights file that `--out` names.
fn output_file(args: &ImportArgs) -> anyhow::Result<PathBuf> {
    let is_file = args.out.extension().is_some_and(|e| e == "safetensors");
    let path = if is_file {
        args.out.clone()
    } else {
        args.out.join(MODEL)
    };
    for existing in [path.clone(), path.with_file_name(CLASSIFIER)] {
        if existing.exists() && !args.force {
            return Err(usage(format!(
                "--out: {} already exists; choose another path or give --force",
                existing.display()
            )));
        }
    }
    Ok(path)
}

fn report(
    args: &ImportArgs,
    files: &Files,
    store: &Store,
    plan: &Plan,
    out: Option<&Path>,
) -> Value {
    json!({
        "source": files.label, "layout": plan.layout, "out": out,
        "method": plan.card.method, "config": plan.card.config,
        "preprocess": plan.card.origin.as_ref().map(|o| o.preprocess),
        "parameters": plan.card.config.parameters(),
        "tensors": plan.matched, "left_aside": store.other_entries,
        "entered": store.entered, "stripped": store.stripped,
        "choices": plan.choices, "offline": args.offline,
    })
}

fn print(files: &Files, store: &Store, plan: &Plan, out: &Path) -> anyhow::Result<()> {
    let m = &plan.matched;
    line(format_args!(
        "{}: {}, {} parameters",
        files.label,
        plan.layout.title(),
        plan.card.config.parameters()
    ))?;
    line(format_args!(
        "tensors: {} applied, {} missing, {} unused, {} misshapen",
        m.applied.len(),
        m.missing.len(),
        m.unused.len(),
        m.misshapen.len()
    ))?;
    for (what, name) in [
        ("weights found in", &store.entered),
        ("removed from all names", &store.stripped),
    ] {
        if !name.is_empty() {
            line(format_args!("  {what}: {name}"))?;
        }
    }
    for (what, names) in [
        ("ignored, without information", &m.ignored),
        ("kept for exporting again", &m.kept),
        ("other entries of the file", &store.other_entries),
    ] {
        match names.len() {
            0 => {}
            1..=10 => line(format_args!("  {what}: {}", names.join(", ")))?,
            many => line(format_args!(
                "  {what}: {}, and {} more",
                names[..5].join(", "),
                many - 5
            ))?,
        }
    }
    for choice in &plan.choices {
        line(format_args!(
            "  {:36} {}  ({})",
            choice.what, choice.value, choice.by
        ))?;
    }
    line(format_args!("checkpoint: {}", out.display()))
}

impl ImportArgs {
    fn about(&self) -> About {
        About {
            method: self.method.map(|m| m.name().to_owned()),
            licence: self.licence.clone(),
            root_text: self.root_text.clone(),
        }
    }

    /// Refuses flags that only apply to other families.
    fn check_family(&self, sentences: bool) -> anyhow::Result<()> {
        let given = [
            ("--labels", self.labels.is_some()),
            ("--frozen-norms", self.frozen_norms),
            ("--d-embed", self.d_embed.is_some()),
            ("--image-size", self.image_size.is_some()),
            ("--seed", self.seed != 0 && !sentences),
        ];
        if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
            return Err(usage(format!(
                "{flag}: expected an EfficientNet-Lite file, found one of another family"
            )));
        }
        if self.image.is_some() && !sentences {
            return Err(usage(
                "--image: expected an encoder of sentences, found a file of another family",
            ));
        }
        Ok(())
    }
}

/// Writes a checkpoint: its classifier, if it has one, then its weights. The weights come last, so
/// that a checkpoint that exists is complete.
fn write(
    path: &Path,
    (tensors, classifier): (Tensors, Option<Parts>),
    card: &ModelCard,
) -> anyhow::Result<()> {
    let classifier_path = path.with_file_name(CLASSIFIER);
    match classifier {
        Some(parts) => classifier_file::write(&classifier_path, parts)?,
        None if classifier_path.exists() => {
            fs::remove_file(&classifier_path).with_context(|| {
                format!(
                    "removing {} of the previous model",
                    classifier_path.display()
                )
            })?;
        }
        None => {}
    }
    pipeline::write(path, tensors, card)
}

/// The plan of an import, and the tensors and the classifier that were read by it.
type Planned = (Plan, anyhow::Result<(Tensors, Option<Parts>)>);

/// Reads an EfficientNet-Lite file: an image encoder with a classifier.
fn read_efficientnet(
    args: &ImportArgs,
    files: &Files,
    store: &mut Store,
) -> anyhow::Result<Planned> {
    let settings = Settings {
        labels: args.labels.as_deref().map(labels::read).transpose()?,
        seed: args.seed,
        frozen_norms: args.frozen_norms,
        d_embed: args.d_embed,
        image_size: args.image_size,
        about: args.about(),
    };
    let plan = efficientnet::plan(files, store, settings)?;
    let read = efficientnet::tensors(store, &plan);
    Ok((plan.common, read))
}

/// Reads an encoder of sentences, and the image encoder of the checkpoint that it is put beside.
fn read_sentence_encoder(
    args: &ImportArgs,
    files: &Files,
    store: &mut Store,
) -> anyhow::Result<Planned> {
    args.check_family(true)?;
    let Some(image) = &args.image else {
        return Err(usage(
            "this is an encoder of sentences, without an image encoder; name the checkpoint of an \
             image encoder that it is put beside with --image",
        ));
    };
    let plan = sentence::plan(files, store, image, (args.seed, &args.about()))?;
    let classifier = classifier_file::parts(image)?;
    let read = sentence::tensors(store, &plan).map(|tensors| (tensors, classifier));
    Ok((plan.common, read))
}

/// Imports a checkpoint and prints a report; with `--json` also of an import whose tensors cannot be
/// read.
///
/// # Errors
/// Bad usage or data (exit code 2), with nothing written; an unreachable hub or a disk that cannot
/// be written to (1).
pub fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let path = output_file(args)?;
    let files = Files::find(&args.source, args.file.as_deref(), args.offline)?;
    let mut store = Store::open(&files.weights)?;
    let (plan, read) = match Layout::of(store.names()) {
        Some(Layout::EfficientnetLite) => read_efficientnet(args, &files, &mut store)?,
        Some(Layout::Bert) => read_sentence_encoder(args, &files, &mut store)?,
        _ => {
            args.check_family(false)?;
            let plan = pipeline::plan(&files, &mut store, &args.flags, &args.about())?;
            let read = pipeline::tensors(&mut store, &plan).map(|tensors| (tensors, None));
            (plan, read)
        }
    };
    if args.json && read.is_err() {
        line(report(args, &files, &store, &plan, None))?;
    }
    write(&path, read?, &plan.card)?;
    if args.json {
        line(report(args, &files, &store, &plan, Some(&path)))
    } else {
        print(&files, &store, &plan, &path)
    }
}
