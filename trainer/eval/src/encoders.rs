//! The encoders of a model, on the fastest engine of a device.

use burn::tensor::Device;
use espalier_checkpoints::device::engine;
use espalier_checkpoints::model_file::Model;
use espalier_core::caption::Engine;
use espalier_core::kernels::{ImageKernels, TextKernels};
use espalier_core::model::{DualConfig, ImageEncoder, TextFamily, Tokens};
use espalier_data::Pixels;
use image::RgbImage;

use crate::tensors::{image_tensor, matrix, rows, values};

/// Number of texts encoded at a time.
const TEXTS: usize = 256;

/// An image encoder without its projection, in evaluation mode.
#[derive(Debug)]
pub struct PooledEncoder {
    weights: Weights,
    width: usize,
}

#[derive(Debug)]
enum Weights {
    Kernels(Box<ImageKernels>),
    Device(Box<ImageEncoder>, Device),
}

impl PooledEncoder {
    /// Creates the encoder of a model on a device, which has no autodiff.
    ///
    /// # Errors
    /// If a weight cannot be read.
    pub fn new(
        encoder: &ImageEncoder,
        config: &DualConfig,
        device: &Device,
    ) -> anyhow::Result<Self> {
        let [width, _] = encoder.visual_proj.weight.dims();
        let weights = match engine(device) {
            Engine::Kernels => Weights::Kernels(Box::new(ImageKernels::of(config, encoder)?)),
            Engine::Device(device) => Weights::Device(Box::new(encoder.clone()), device),
        };
        Ok(Self { weights, width })
    }

    /// Returns the number of values of a feature.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Computes the pooled features of images, `[count, width]` row by row. A CPU uses the threads of
    /// the current pool.
    ///
    /// # Errors
    /// When the device fails.
    pub fn encode(&self, images: &Pixels) -> anyhow::Result<Vec<f32>> {
        match &self.weights {
            Weights::Kernels(kernels) => {
                let images: Vec<RgbImage> = images.images().collect();
                Ok(kernels.pooled_all(&images).concat())
            }
            Weights::Device(encoder, device) => {
                values(encoder.pooled(image_tensor(images, device)))
            }
        }
    }
}

/// The image encoder of a model and its lift.
#[derive(Debug)]
pub struct ImagePoints<'a> {
    model: &'a Model,
    device: &'a Device,
    pooled: PooledEncoder,
}

impl<'a> ImagePoints<'a> {
    /// Creates the encoder of a model on a device.
    ///
    /// # Errors
    /// If a weight cannot be read.
    pub fn new(model: &'a Model, device: &'a Device) -> anyhow::Result<Self> {
        Ok(Self {
            model,
            device,
            pooled: PooledEncoder::new(&model.encoder.image, &model.card.config, device)?,
        })
    }

    /// Computes the points of images.
    ///
    /// # Errors
    /// When the device fails.
    pub fn of(&self, images: &Pixels) -> anyhow::Result<Vec<Vec<f32>>> {
        if images.count == 0 {
            return Ok(Vec::new());
        }
        let pooled = self.pooled.encode(images)?;
        let pooled = matrix(pooled, self.pooled.width(), self.device);
        let encoder = &self.model.encoder;
        rows(encoder.lift.image(encoder.image.project(pooled)))
    }
}

/// The text encoder of a model, before its lift.
#[derive(Debug)]
pub struct TextFeatures<'a> {
    /// The model.
    pub(crate) model: &'a Model,
    /// The device that lifts the features.
    pub(crate) device: &'a Device,
    /// `None` for the backend of the device.
    kernels: Option<Box<TextKernels>>,
}

impl<'a> TextFeatures<'a> {
    /// Creates the encoder of a model on a device.
    ///
    /// # Errors
    /// If a weight cannot be read.
    pub fn new(model: &'a Model, device: &'a Device) -> anyhow::Result<Self> {
        let config = &model.card.config;
        let kernels = match engine(device) {
            // The kernels have no encoder of BERT's family.
            Engine::Kernels if config.text.family == TextFamily::Clip => {
                Some(Box::new(TextKernels::of(config, &model.encoder.text)?))
            }
            Engine::Kernels | Engine::Device(_) => None,
        };
        Ok(Self {
            model,
            device,
            kernels,
        })
    }

    /// Computes the projected features of texts.
    ///
    /// # Errors
    /// When the device fails.
    pub fn of(&self, texts: &[String]) -> anyhow::Result<Vec<Vec<f32>>> {
        let encoder = &self.model.encoder.text;
        let context = self.model.card.config.text.context;
        let mut features = Vec::with_capacity(texts.len());
        for texts in texts.chunks(TEXTS) {
            let batch = self.model.tokenizer.encode_batch(texts, context);
            features.extend(match &self.kernels {
                Some(kernels) => kernels.forward(&batch),
                None => rows(encoder.forward(&Tokens::new(&batch, self.device)))?,
            });
        }
        Ok(features)
    }
}
