//! The encoders of a bundle with the lift of their features, on any engine.

use image::{Rgb, RgbImage};

#[cfg(feature = "burn")]
use super::device::{DeviceLoader, OnDevice};
use super::engine::Engine;
use crate::error::{CoreError, Result};
use crate::input::TokenBatch;
use crate::kernels::{ImageKernels, TextKernels};
use crate::model::{Arithmetic, DualConfig, FeatureMap, Modality, PointLift};
#[cfg(feature = "burn")]
use crate::model::{ImageEncoder, TextEncoder};
use crate::weights::{StoredTensor, StoredTensors};

/// Name of the logit scale, which files of the text encoder hold and inference does not need.
const LOGIT_SCALE: &str = "logit_scale";

/// An image encoder of which some files have arrived.
#[derive(Debug)]
pub(super) struct ImageLoader {
    config: DualConfig,
    /// Scalars of the lift.
    scalars: StoredTensors,
    weights: ImageWeights,
}

/// Weights that have arrived.
#[derive(Debug)]
enum ImageWeights {
    /// For the kernels, which pack them when all have arrived.
    Stored(StoredTensors),
    #[cfg(feature = "burn")]
    Device(Box<DeviceLoader<ImageEncoder>>),
}

/// An image encoder, ready to embed.
#[derive(Debug)]
pub(super) struct ImagePart {
    encoder: ImageFeatures,
    /// Arithmetic of the kernels, from the configuration.
    arithmetic: Arithmetic,
    lift: PointLift,
    /// The mean colour of the images that the encoder was trained on.
    mean_colour: Rgb<u8>,
}

#[derive(Debug)]
enum ImageFeatures {
    Kernels(Box<ImageKernels>),
    #[cfg(feature = "burn")]
    Device(Box<OnDevice<ImageEncoder>>),
}

/// Adds tensors to those that arrived before.
fn append(stored: &mut StoredTensors, more: StoredTensors) -> Result<()> {
    for (name, tensor) in more.tensors {
        if stored.tensors.contains_key(&name) {
            return Err(CoreError::TensorNames {
                missing: Vec::new(),
                unknown: vec![format!("{name}, which another file has too")],
            });
        }
        stored.tensors.insert(name, tensor);
    }
    Ok(())
}

/// Separates the scalars of the lift from the weights of the encoder.
fn split_scalars(mut stored: StoredTensors) -> (StoredTensors, StoredTensors) {
    let is_scalar = |name: &String, _: &mut StoredTensor| PointLift::is_scalar(name);
    let scalars = StoredTensors {
        tensors: stored.tensors.extract_if(.., is_scalar).collect(),
        ..StoredTensors::default()
    };
    (scalars, stored)
}

/// Lifts features, and checks that no point has values that are not finite.
fn lifted(lift: &PointLift, features: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
    let points = features.iter().map(|feature| finite(lift.apply(feature)));
    points.collect()
}

fn finite(point: Vec<f32>) -> Result<Vec<f32>> {
    if point.iter().all(|v| v.is_finite()) {
        return Ok(point);
    }
    Err(CoreError::Device("the embedding is not finite".into()))
}

impl ImageLoader {
    pub(super) fn new(config: &DualConfig, engine: &Engine) -> Self {
        Self {
            config: config.clone(),
            scalars: StoredTensors::default(),
            weights: match engine {
                Engine::Kernels => ImageWeights::Stored(StoredTensors::default()),
                #[cfg(feature = "burn")]
                Engine::Device(device) => {
                    let loader = DeviceLoader::new(config.init_image(device), device);
                    ImageWeights::Device(Box::new(loader))
                }
            },
        }
    }

    /// Adds a file of weights. On a device, they are moved there at once.
    pub(super) fn with(mut self, bytes: &[u8]) -> Result<Self> {
        let (scalars, weights) = split_scalars(StoredTensors::read(bytes)?);
        append(&mut self.scalars, scalars)?;
        self.weights = match self.weights {
            ImageWeights::Stored(mut stored) => {
                append(&mut stored, weights)?;
                ImageWeights::Stored(stored)
            }
            #[cfg(feature = "burn")]
            ImageWeights::Device(loader) => ImageWeights::Device(Box::new(loader.with(weights)?)),
        };
        Ok(self)
    }

    /// Completes the encoder.
    ///
    /// # Errors
    /// A tensor error: weights are missing, unknown, or have another shape.
    pub(super) fn finish(mut self) -> Result<ImagePart> {
        let lift = PointLift::take(&self.config, Modality::Image, &mut self.scalars)?;
        let encoder = match self.weights {
            ImageWeights::Stored(stored) => {
                let kernels = ImageKernels::new(&self.config, stored)?;
                ImageFeatures::Kernels(Box::new(kernels))
            }
            #[cfg(feature = "burn")]
            ImageWeights::Device(loader) => ImageFeatures::Device(Box::new(loader.finish()?)),
        };
        Ok(ImagePart {
            encoder,
            arithmetic: self.config.vision.arithmetic,
            lift,
            mean_colour: Rgb(self
                .config
                .pixel_mean
                .map(|mean| (mean * 255.0).round() as u8)),
        })
    }
}

impl ImagePart {
    /// Returns the features of a preprocessed image's places; `None` for an encoder whose places
    /// see all others.
    ///
    /// # Errors
    /// [`CoreError::Device`] when the device fails.
    pub(super) async fn feature_map(&self, image: &RgbImage) -> Result<Option<FeatureMap>> {
        match &self.encoder {
            ImageFeatures::Kernels(kernels) => Ok(kernels.feature_map(image)),
            #[cfg(feature = "burn")]
            ImageFeatures::Device(device) => device.feature_map(image).await,
        }
    }

    /// Returns the points of features.
    ///
    /// # Errors
    /// [`CoreError::Device`] when a point is not finite.
    pub(super) fn lift(&self, features: &[Vec<f32>]) -> Result<Vec<Vec<f32>>> {
        lifted(&self.lift, features)
    }

    /// Returns the arithmetic of the encoder's engine.
    pub(super) fn arithmetic(&self) -> Arithmetic {
        match &self.encoder {
            ImageFeatures::Kernels(_) => self.arithmetic,
            #[cfg(feature = "burn")]
            ImageFeatures::Device(_) => Arithmetic::Float32,
        }
    }

    /// Returns the mean colour of the images that the encoder was trained on.
    pub(super) fn mean_colour(&self) -> Rgb<u8> {
        self.mean_colour
    }

    /// Returns the embeddings of preprocessed images.
    ///
    /// # Errors
    /// [`CoreError::Device`] when the device fails, or an embedding is not finite.
    pub(super) async fn embed(&self, images: &[RgbImage]) -> Result<Vec<Vec<f32>>> {
        let features = match &self.encoder {
            ImageFeatures::Kernels(kernels) => kernels.forward_all(images),
            #[cfg(feature = "burn")]
            ImageFeatures::Device(device) => device.features(images).await?,
        };
        lifted(&self.lift, &features)
    }
}

/// A text encoder, ready to embed.
#[derive(Debug)]
pub(super) struct TextPart {
    encoder: TextFeatures,
    lift: PointLift,
}

#[derive(Debug)]
enum TextFeatures {
    Kernels(Box<TextKernels>),
    #[cfg(feature = "burn")]
    Device(Box<OnDevice<TextEncoder>>),
}

impl TextPart {
    /// Builds the encoder from the tensors of its files.
    ///
    /// # Errors
    /// A tensor error: weights are missing, unknown, or have another shape.
    pub(super) fn new(
        config: &DualConfig,
        mut stored: StoredTensors,
        engine: &Engine,
    ) -> Result<Self> {
        let lift = PointLift::take(config, Modality::Text, &mut stored)?;
        stored.tensors.remove(LOGIT_SCALE);
        let encoder = match engine {
            Engine::Kernels => TextFeatures::Kernels(Box::new(TextKernels::new(config, stored)?)),
            #[cfg(feature = "burn")]
            Engine::Device(device) => {
                let loader = DeviceLoader::new(config.init_text(device), device);
                TextFeatures::Device(Box::new(loader.with(stored)?.finish()?))
            }
        };
        Ok(Self { encoder, lift })
    }

    /// Returns the embeddings of texts.
    ///
    /// # Errors
    /// [`CoreError::Device`] when the device fails, or an embedding is not finite.
    pub(super) async fn embed(&self, batch: &TokenBatch) -> Result<Vec<Vec<f32>>> {
        lifted(&self.lift, &self.features(batch).await?)
    }

    /// Returns the embedding of the mean of several texts of the same thing.
    pub(super) async fn embed_mean(&self, batch: &TokenBatch) -> Result<Vec<f32>> {
        finite(self.lift.apply_to_mean(&self.features(batch).await?))
    }

    async fn features(&self, batch: &TokenBatch) -> Result<Vec<Vec<f32>>> {
        match &self.encoder {
            TextFeatures::Kernels(kernels) => Ok(kernels.forward(batch)),
            #[cfg(feature = "burn")]
            TextFeatures::Device(device) => device.features(batch).await,
        }
    }
}
