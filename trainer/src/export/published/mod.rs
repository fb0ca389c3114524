//! Checkpoints for other programs: the names, configurations and cards that they read.
//!
//! Numbers are not touched: what is imported again has the same bits. A model that a format cannot
//! say is refused, with what stands in the way.

mod card;
mod hugging_face;
mod meru;
mod open_clip;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use espalier_core::input::ResizeMode;
use espalier_core::model::{DualConfig, LiftKind};
use espalier_core::weights::Tensors;
use serde_json::Value;

use crate::exit::usage;
use crate::fit::checkpoint::write_whole;
use crate::layout::{Layout, give};
use crate::model_file::ModelCard;
use crate::weights_file::{self, Stored};

/// What `trainer export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A bundle for the page.
    Bundle,
    /// A folder for transformers' CLIP.
    Hf,
    /// A folder for open_clip.
    #[value(name = "open_clip", alias = "open-clip")]
    OpenClip,
    /// Weights under the names of the MERU family.
    Meru,
}

/// A checkpoint as it is read from disk.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What it says of itself.
    pub card: ModelCard,
    /// Its tensors, under our names.
    pub tensors: Tensors,
}

/// What a format makes of a checkpoint.
struct Written {
    /// Name of the weights file.
    weights: &'static str,
    /// Tensors beside those of the layout's table.
    more: Vec<(String, Stored)>,
    /// Metadata of the weights file.
    metadata: BTreeMap<String, String>,
    /// Other files.
    files: Vec<(&'static str, String)>,
}

/// What a model has and what a format wants.
struct Wanted {
    faults: Vec<String>,
    format: &'static str,
}

impl Wanted {
    fn new(format: &'static str) -> Self {
        Self {
            faults: Vec::new(),
            format,
        }
    }

    /// Note that something does not fit.
    fn that(&mut self, fits: bool, what: &str, found: impl std::fmt::Debug) {
        if !fits {
            self.faults.push(format!("wanted {what}, found {found:?}"));
        }
    }

    fn judge(self) -> anyhow::Result<()> {
        if self.faults.is_empty() {
            return Ok(());
        }
        Err(usage(format!(
            "--format {}: this model cannot be said in it: {}; --format meru takes every model",
            self.format,
            self.faults.join("; ")
        )))
    }
}

/// Pixel statistics of a checkpoint: its tensors, which the model computes with.
fn pixels(checkpoint: &Checkpoint) -> anyhow::Result<[[f64; 3]; 2]> {
    let read = |name: &str| {
        let tensor = checkpoint.tensors.tensors.get(name);
        let three = tensor.and_then(|t| <[f32; 3]>::try_from(t.data.as_slice()).ok());
        three
            .map(|t| t.map(neat))
            .ok_or_else(|| usage(format!("the checkpoint has no `{name}` of three numbers")))
    };
    Ok([read("pixel_mean")?, read("pixel_std")?])
}

/// The shortest decimal number that is read as this float again.
fn neat(value: f32) -> f64 {
    let short: f64 = value.to_string().parse().unwrap_or(f64::from(value));
    if short as f32 == value {
        short
    } else {
        f64::from(value)
    }
}

fn resize(card: &ModelCard) -> ResizeMode {
    let own = card.origin.as_ref().map(|o| o.preprocess.resize);
    own.unwrap_or_default()
}

fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// What every CLIP of other programs is.
fn want_clip(wanted: &mut Wanted, config: &DualConfig, resize: ResizeMode) {
    let v = &config.vision;
    wanted.that(
        config.lift == LiftKind::Sphere,
        "the unit sphere",
        config.lift,
    );
    wanted.that(!v.patch_bias, "patches without bias", "a bias");
    let told = resize != ResizeMode::WhitePad;
    wanted.that(told, "pictures cropped or squeezed", resize);
}

/// Write a checkpoint for other programs; returns the names of the files.
///
/// # Errors
/// Bad usage: a model that the format cannot say, or files that are there already without
/// `force`; a plain failure where the folder cannot be written to.
pub fn write(
    checkpoint: &Checkpoint,
    format: ExportFormat,
    (out, force): (&Path, bool),
    (name, notes): (&str, &str),
) -> anyhow::Result<Vec<String>> {
    let vision = &checkpoint.card.config.vision;
    if vision.stem.is_some() || vision.inverted.is_some() {
        return Err(usage(
            "--format: wanted a picture tower of patches, found one with convolutions, which none of \
             these formats has; export it as a bundle",
        ));
    }
    let (layout, written) = match format {
        ExportFormat::Bundle => return Err(usage("--format bundle is written elsewhere")),
        ExportFormat::Hf => (Layout::HuggingFace, hugging_face::write(checkpoint)?),
        ExportFormat::OpenClip => (Layout::OpenClip, open_clip::write(checkpoint)?),
        ExportFormat::Meru => (Layout::Meru, meru::write(checkpoint)?),
    };
    let weights = out.join(written.weights);
    if weights.exists() && !force {
        return Err(usage(format!(
            "--out: {} is there already; choose another folder or give --force",
            weights.display()
        )));
    }
    let config = &checkpoint.card.config;
    let given = give(&layout.pieces(config), &checkpoint.tensors).map_err(usage)?;
    let floats = given.into_iter();
    let mut tensors: BTreeMap<String, Stored> =
        floats.map(|(name, t)| (name, Stored::Floats(t))).collect();
    tensors.extend(written.more);
    fs::create_dir_all(out).with_context(|| format!("creating {}", out.display()))?;
    let mut names = Vec::new();
    for (file, text) in &written.files {
        write_whole(&out.join(file), text.as_bytes())?;
        names.push((*file).to_owned());
    }
    let readme = card::write(&checkpoint.card, layout, name, notes);
    write_whole(&out.join("README.md"), readme.as_bytes())?;
    // The weights last: a folder with weights is whole.
    weights_file::write(&weights, &tensors, written.metadata)?;
    names.extend(["README.md".to_owned(), written.weights.to_owned()]);
    Ok(names)
}
