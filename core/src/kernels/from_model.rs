//! Kernels from models on Burn's tensors.

use super::image_encoder::ImageKernels;
use super::text_encoder::TextKernels;
use super::weights::KernelWeights;
use crate::error::Result;
use crate::model::{DualConfig, ImageEncoder, TextEncoder};
use crate::weights::{StoredTensors, collect};

impl ImageKernels {
    /// Packs the weights of an encoder; batch norms are folded by their running statistics.
    ///
    /// # Errors
    /// [`CoreError::Tensor`](crate::CoreError::Tensor) when a weight cannot be read; as
    /// [`new`](Self::new) when the encoder is not the configured one.
    pub fn of(config: &DualConfig, encoder: &ImageEncoder) -> Result<Self> {
        let mut folded = encoder.clone();
        folded.visual = folded.visual.folded();
        let config = config.clone().with_vision(config.vision.folded());
        let mut weights = KernelWeights::from(StoredTensors::from(collect(&folded)?));
        let kernels = Self::new(&config, &mut weights)?;
        weights.finish()?;
        Ok(kernels)
    }
}

impl TextKernels {
    /// Packs the weights of an encoder.
    ///
    /// # Errors
    /// As [`ImageKernels::of`].
    pub fn of(config: &DualConfig, encoder: &TextEncoder) -> Result<Self> {
        let mut weights = KernelWeights::from(StoredTensors::from(collect(encoder)?));
        let kernels = Self::new(config, &mut weights)?;
        weights.finish()?;
        Ok(kernels)
    }
}
