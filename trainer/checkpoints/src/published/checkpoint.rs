//! A checkpoint, and its representation in other formats.

use espalier_core::input::ResizeMode;
use espalier_core::model::{DualConfig, LiftKind};
use espalier_core::weights::Tensors;
use espalier_io::disk::weights_file::Stored;
use espalier_io::exit::usage;
use serde_json::Value;

use crate::model_file::ModelCard;

/// A checkpoint as read from disk.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its model card.
    pub card: ModelCard,
    /// Its tensors, under our names.
    pub tensors: Tensors,
}

/// A checkpoint in another format.
#[derive(Default)]
pub(super) struct Written {
    /// Name of the weights file.
    pub(super) weights: &'static str,
    /// Tensors besides those of the layout's table.
    pub(super) extra_tensors: Vec<(String, Stored)>,
    /// The card, as JSON, for the metadata of the weights file; only in files that are to be imported
    /// as they were.
    pub(super) card: Option<String>,
    /// Other files.
    pub(super) files: Vec<(&'static str, String)>,
}

/// Requirements of a format that a model does not meet.
pub(super) struct Requirements {
    unmet: Vec<String>,
    format: &'static str,
}

impl Requirements {
    pub(super) fn new(format: &'static str) -> Self {
        Self {
            unmet: Vec::new(),
            format,
        }
    }

    /// Records a requirement that is not met.
    pub(super) fn check(&mut self, fits: bool, what: &str, found: impl std::fmt::Debug) {
        if !fits {
            self.unmet.push(format!("expected {what}, found {found:?}"));
        }
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        if self.unmet.is_empty() {
            return Ok(());
        }
        Err(usage(format!(
            "--format {}: the format cannot represent this model: {}; --format meru supports every model",
            self.format,
            self.unmet.join("; ")
        )))
    }
}

/// Returns the pixel statistics of a checkpoint, read from the tensors that the model uses.
pub(super) fn pixels(checkpoint: &Checkpoint) -> anyhow::Result<[[f64; 3]; 2]> {
    let read = |name: &str| {
        let tensor = checkpoint.tensors.tensors.get(name);
        let three = tensor.and_then(|t| <[f32; 3]>::try_from(t.data.as_slice()).ok());
        three.map(|t| t.map(shortest_decimal)).ok_or_else(|| {
            usage(format!(
                "expected three numbers in `{name}` of the checkpoint, found none"
            ))
        })
    };
    Ok([read("pixel_mean")?, read("pixel_std")?])
}

/// Returns the shortest decimal number that parses to the same float.
fn shortest_decimal(value: f32) -> f64 {
    let short: f64 = value.to_string().parse().unwrap_or(f64::from(value));
    if short as f32 == value {
        short
    } else {
        f64::from(value)
    }
}

pub(super) fn pretty(value: &Value) -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Requirements that all CLIP models of other programs share.
pub(super) fn require_clip(
    requirements: &mut Requirements,
    config: &DualConfig,
    resize: ResizeMode,
) {
    let v = &config.vision;
    requirements.check(
        config.lift == LiftKind::Sphere,
        "the unit sphere",
        config.lift,
    );
    requirements.check(!v.patch_bias, "patches without a bias", "a bias");
    let supported = resize != ResizeMode::WhitePad;
    requirements.check(supported, "images cropped or squeezed", resize);
}
