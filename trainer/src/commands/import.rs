//! `trainer import`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use espalier_core::weights::{HostTensor, Tensors};
use serde_json::{Value, json};

use crate::classifier_file;
use crate::cli::ImportArgs;
use crate::disk::run_folder::{CLASSIFIER, MODEL};
use crate::disk::weights_file::{self, Stored};
use crate::exit::usage;
use crate::import::choices::Choice;
use crate::import::convert::Match;
use crate::import::efficientnet::{self, Wanted};
use crate::import::labels;
use crate::import::pipeline::{About, plan, tensors};
use crate::import::source::Files;
use crate::import::store::Store;
use crate::layout::Layout;
use crate::model_file::ModelCard;

/// Returns the weights file that `--out` names.
fn target(args: &ImportArgs) -> anyhow::Result<PathBuf> {
    let is_file = args.out.extension().is_some_and(|e| e == "safetensors");
    let path = if is_file {
        args.out.clone()
    } else {
        args.out.join(MODEL)
    };
    for there in [path.clone(), path.with_file_name(CLASSIFIER)] {
        if there.exists() && !args.force {
            return Err(usage(format!(
                "--out: {} already exists; choose another path or give --force",
                there.display()
            )));
        }
    }
    Ok(path)
}

/// Result of an import, for the report.
struct Done<'a> {
    layout: Layout,
    card: &'a ModelCard,
    choices: &'a [Choice],
    matched: &'a Match,
}

fn report(
    args: &ImportArgs,
    files: &Files,
    store: &Store,
    done: &Done<'_>,
    out: Option<&Path>,
) -> Value {
    json!({
        "source": files.label, "layout": done.layout, "out": out,
        "method": done.card.method, "config": done.card.config,
        "preprocess": done.card.origin.as_ref().map(|o| o.preprocess),
        "parameters": done.card.config.parameters(),
        "tensors": done.matched, "left_aside": store.left_aside,
        "choices": done.choices, "offline": args.offline,
    })
}

fn print(files: &Files, store: &Store, done: &Done<'_>, out: &Path) {
    let m = done.matched;
    println!(
        "{}: {}, {} parameters",
        files.label,
        done.layout.title(),
        done.card.config.parameters()
    );
    println!(
        "tensors: {} applied, {} missing, {} unused, {} misshapen",
        m.applied.len(),
        m.missing.len(),
        m.unused.len(),
        m.misshapen.len()
    );
    for (what, names) in [
        ("ignored, no information", &m.ignored),
        ("kept, not used", &m.kept),
        ("entries beside the weights", &store.left_aside),
    ] {
        match names.len() {
            0 => {}
            1..=10 => println!("  {what}: {}", names.join(", ")),
            many => println!("  {what}: {}, and {} more", names[..5].join(", "), many - 5),
        }
    }
    for choice in done.choices {
        println!("  {:36} {}  ({})", choice.what, choice.value, choice.by);
    }
    println!("checkpoint: {}", out.display());
}

impl ImportArgs {
    fn about(&self) -> About {
        About {
            method: self.method.map(|m| m.name().to_owned()),
            licence: self.licence.clone(),
            root_text: self.root_text.clone(),
        }
    }

    /// Refuses flags that only apply to an image encoder with a classifier.
    fn check_family(&self) -> anyhow::Result<()> {
        let given = [
            ("--labels", self.labels.is_some()),
            ("--frozen-norms", self.frozen_norms),
            ("--d-embed", self.d_embed.is_some()),
            ("--image-size", self.image_size.is_some()),
            ("--seed", self.seed != 0),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(usage(format!(
                "{flag}: expected an EfficientNet-Lite file, found one of another family"
            ))),
            None => Ok(()),
        }
    }
}

/// Writes a checkpoint: its classifier, if it has one, then its weights. The weights come last, so
/// that a checkpoint that exists is complete.
fn write(
    path: &Path,
    tensors: Tensors,
    classifier: Option<(HostTensor, HostTensor, Vec<String>)>,
    card: &ModelCard,
) -> anyhow::Result<()> {
    let beside = path.with_file_name(CLASSIFIER);
    match classifier {
        Some((weight, bias, labels)) => classifier_file::write(&beside, weight, bias, &labels)?,
        None if beside.exists() => fs::remove_file(&beside)
            .with_context(|| format!("removing {} of the previous model", beside.display()))?,
        None => {}
    }
    let stored = tensors.tensors.into_iter();
    let stored = stored.map(|(name, tensor)| (name, Stored::Floats(tensor)));
    weights_file::write(path, &stored.collect(), card.metadata()?)
}

/// Imports an image encoder with a classifier.
fn encoder(args: &ImportArgs, files: &Files, store: &mut Store, path: &Path) -> anyhow::Result<()> {
    let labels = args.labels.as_deref().map(labels::read).transpose()?;
    let wanted = Wanted {
        labels,
        seed: args.seed,
        frozen_norms: args.frozen_norms,
        d_embed: args.d_embed,
        image_size: args.image_size,
        about: args.about(),
    };
    let plan = efficientnet::plan(files, store, wanted)?;
    let done = Done {
        layout: Layout::EfficientnetLite,
        card: &plan.card,
        choices: &plan.choices,
        matched: &plan.matched,
    };
    let read = efficientnet::tensors(store, &plan);
    if args.json && read.is_err() {
        println!("{}", report(args, files, store, &done, None));
    }
    let read = read?;
    write(path, read.tensors, read.classifier, &plan.card)?;
    if args.json {
        println!("{}", report(args, files, store, &done, Some(path)));
    } else {
        print(files, store, &done, path);
    }
    Ok(())
}

/// Imports a checkpoint and prints a report.
///
/// # Errors
/// Bad usage or data (exit code 2), with nothing written; an unreachable hub or a disk that cannot
/// be written to (1).
pub fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let path = target(args)?;
    let files = Files::find(&args.source, args.file.as_deref(), args.offline)?;
    let mut store = Store::open(&files.weights)?;
    if efficientnet::is_one(&store) {
        return encoder(args, &files, &mut store, &path);
    }
    args.check_family()?;
    let plan = plan(&files, &mut store, &args.unsaid, &args.about())?;
    let done = Done {
        layout: plan.layout,
        card: &plan.card,
        choices: &plan.choices,
        matched: &plan.matched,
    };
    let read = tensors(&mut store, &plan);
    if args.json && read.is_err() {
        println!("{}", report(args, &files, &store, &done, None));
    }
    write(&path, read?, None, &plan.card)?;
    if args.json {
        println!("{}", report(args, &files, &store, &done, Some(&path)));
    } else {
        print(&files, &store, &done, &path);
    }
    Ok(())
}
