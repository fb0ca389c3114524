//! A checkpoint, and what of it a format can say.

use std::collections::BTreeMap;

use espalier_core::input::ResizeMode;
use espalier_core::model::{DualConfig, LiftKind};
use espalier_core::weights::Tensors;
use serde_json::Value;

use crate::disk::weights_file::Stored;
use crate::exit::usage;
use crate::model_file::ModelCard;

/// A checkpoint as it is read from disk.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// What it says of itself.
    pub card: ModelCard,
    /// Its tensors, under our names.
    pub tensors: Tensors,
}

/// What a format makes of a checkpoint.
pub(super) struct Written {
    /// Name of the weights file.
    pub(super) weights: &'static str,
    /// Tensors beside those of the layout's table.
    pub(super) more: Vec<(String, Stored)>,
    /// Metadata of the weights file.
    pub(super) metadata: BTreeMap<String, String>,
    /// Other files.
    pub(super) files: Vec<(&'static str, String)>,
}

/// What a model has and what a format wants.
pub(super) struct Wanted {
    faults: Vec<String>,
    format: &'static str,
}

impl Wanted {
    pub(super) fn new(format: &'static str) -> Self {
        Self {
            faults: Vec::new(),
            format,
        }
    }

    /// Note that something does not fit.
    pub(super) fn that(&mut self, fits: bool, what: &str, found: impl std::fmt::Debug) {
        if !fits {
            self.faults.push(format!("wanted {what}, found {found:?}"));
        }
    }

    pub(super) fn judge(self) -> anyhow::Result<()> {
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
pub(super) fn pixels(checkpoint: &Checkpoint) -> anyhow::Result<[[f64; 3]; 2]> {
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

pub(super) fn resize(card: &ModelCard) -> ResizeMode {
    let own = card.origin.as_ref().map(|o| o.preprocess.resize);
    own.unwrap_or_default()
}

pub(super) fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// What every CLIP of other programs is.
pub(super) fn want_clip(wanted: &mut Wanted, config: &DualConfig, resize: ResizeMode) {
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
