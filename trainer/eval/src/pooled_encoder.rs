//! An image encoder without its projection, on the fastest engine of a device.

use burn::tensor::Device;
use espalier_checkpoints::device::engine;
use espalier_core::caption::Engine;
use espalier_core::kernels::ImageKernels;
use espalier_core::model::{DualConfig, ImageEncoder};
use espalier_data::Pixels;
use image::RgbImage;

use crate::embed;
use crate::tensors::image_tensor;

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
    #[must_use]
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
                embed::values(encoder.pooled(image_tensor(images, device)))
            }
        }
    }
}
