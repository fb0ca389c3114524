//! Kernels from models on Burn's tensors.

use super::image_encoder::ImageKernels;
use super::text_encoder::TextKernels;
use crate::error::Result;
use crate::model::{DualConfig, ImageEncoder, TextEncoder};
use crate::weights::collect;

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
        Self::new(&config, collect(&folded)?.into())
    }
}

impl TextKernels {
    /// Packs the weights of an encoder.
    ///
    /// # Errors
    /// As [`ImageKernels::of`].
    pub fn of(config: &DualConfig, encoder: &TextEncoder) -> Result<Self> {
        Self::new(config, collect(encoder)?.into())
    }
}
