//! Configuration of layers, without their tensors.

use derive_new::new;
use espalier_kernels::Gelu;
use serde::{Deserialize, Serialize};

/// `eps` of every layer norm of the MERU family (notation trap 26).
pub(crate) const LAYER_NORM_EPS: f64 = 1e-5;

/// Non-linearity of the feed-forward layers. Both kinds have the same shapes, so a wrong one gives
/// wrong results without an error; the choice is therefore stored with the weights (notation trap
/// 25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Activation {
    /// `x Phi(x)`, exact (MERU family, open_clip).
    Gelu,
    /// `x sigmoid(1.702 x)` (OpenAI CLIP).
    QuickGelu,
}

impl From<Activation> for Gelu {
    fn from(activation: Activation) -> Self {
        match activation {
            Activation::Gelu => Self::Exact,
            Activation::QuickGelu => Self::Quick,
        }
    }
}

/// One stage of convolutions.
#[derive(new, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageConfig {
    /// Channels.
    pub width: usize,
    /// Residual blocks after the convolution that halves the side.
    pub blocks: usize,
}

/// Returns the number of parameters of stages of convolutions.
pub(crate) fn stage_parameters(stages: &[StageConfig]) -> usize {
    let conv = |d_in: usize, d_out: usize| 9 * d_in * d_out + 2 * d_out;
    let widths = stages.iter().map(|stage| stage.width);
    let inputs = [3].into_iter().chain(widths);
    let of = |(stage, d_in): (&StageConfig, usize)| {
        conv(d_in, stage.width) + stage.blocks * (2 * conv(stage.width, stage.width) + 1)
    };
    stages.iter().zip(inputs).map(of).sum()
}
