//! The models that are measured, by name.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Result;
use burn::tensor::Device;
use espalier_core::model::{Arithmetic, DualConfig, ImageEncoder, LiftKind, Preset};
use espalier_trainer::model_file;
use serde::Deserialize;

/// A preset with random weights, or a bundle with its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct ModelName {
    /// Name of a preset, or of a folder with a bundle.
    pub model: String,
    /// Side of the images, where it is not the model's own.
    pub side: Option<usize>,
    /// Numbers that inference multiplies.
    #[serde(default)]
    pub arithmetic: Arithmetic,
}

/// Where bundles are.
pub struct Models {
    pub folder: PathBuf,
}

impl Models {
    /// Returns the architecture of a model.
    pub fn config(&self, name: &ModelName) -> Result<DualConfig> {
        let mut config = match Preset::from_str(&name.model) {
            Ok(preset) => preset.config(),
            Err(_) => self.bundle(name)?.card.config,
        };
        config.vision.image_size = name.side.unwrap_or(config.vision.image_size);
        config.vision.arithmetic = name.arithmetic;
        Ok(config.with_lift(LiftKind::Lorentz))
    }

    /// Returns the image encoder of a model and its architecture.
    pub fn image_encoder(&self, name: &ModelName) -> Result<(DualConfig, ImageEncoder)> {
        if Preset::from_str(&name.model).is_err() && name.side.is_none() {
            let mut model = self.bundle(name)?;
            model.card.config.vision.arithmetic = name.arithmetic;
            return Ok((model.card.config, model.encoder.image));
        }
        let config = self.config(name)?;
        let device = Device::flex();
        device.seed(0);
        let encoder = config.init_image(&device);
        Ok((config, encoder))
    }

    fn bundle(&self, name: &ModelName) -> Result<model_file::Model> {
        model_file::open(&self.folder.join(&name.model), &Device::flex())
    }
}
