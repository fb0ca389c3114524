//! Configuration of an encoder of inverted residuals.

use derive_new::new;
use derive_setters::Setters;
use serde::{Deserialize, Serialize};

/// Kind of normalisation in an encoder of inverted residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Norms {
    /// In training by the statistics of the batch, and the running statistics are updated;
    /// otherwise by the running statistics. A batch is computed in several parts (one per thread).
    /// Each part is normalised by its own statistics, but the running statistics cover all parts.
    Batch,
    /// Always by the running statistics, which do not change; gain and offset are trained ("frozen
    /// batch norm", usual when a pretrained encoder is fine-tuned on small batches).
    Frozen,
    /// No norms: they were folded into the convolutions, which then have a bias.
    Folded,
}

/// Consecutive blocks of the same width.
#[derive(new, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvertedStage {
    /// Width inside a block divided by the width of its input; 1 for no expansion.
    pub expand: usize,
    /// Side of the depthwise kernels, odd.
    pub kernel: usize,
    /// Stride of the first block; the others have stride 1.
    pub stride: usize,
    /// Output channels.
    pub width: usize,
    /// Number of blocks, at least 1.
    pub blocks: usize,
}

/// An encoder of inverted residuals (Sandler et al. 2018, MobileNetV2; Tan and Le 2019,
/// EfficientNet): a convolution that halves the side, blocks, and a 1x1 convolution to `d_model`.
#[derive(new, Setters, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[setters(prefix = "with_")]
pub struct InvertedConfig {
    /// Channels of the first convolution.
    pub stem_width: usize,
    /// Stages, finest first.
    pub stages: Vec<InvertedStage>,
    /// Kind of normalisation.
    #[new(value = "Norms::Batch")]
    pub norms: Norms,
    /// Added to variances.
    #[new(value = "1e-3")]
    pub norm_eps: f64,
    /// Weight of a batch in the running statistics, in `[0, 1]`.
    #[new(value = "0.01")]
    pub norm_momentum: f64,
}

/// Sizes of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSizes {
    /// Input channels.
    pub d_in: usize,
    /// Channels inside the block; `d_in` without expansion.
    pub d_inner: usize,
    /// Output channels.
    pub d_out: usize,
    /// Whether a 1x1 convolution widens the input first.
    pub expands: bool,
    /// Side of the depthwise kernel.
    pub kernel: usize,
    /// Stride of the depthwise convolution.
    pub stride: usize,
}

impl BlockSizes {
    /// Returns whether the input is added to the output.
    #[must_use]
    pub fn adds_input(&self) -> bool {
        self.stride == 1 && self.d_in == self.d_out
    }
}

impl InvertedConfig {
    /// Returns EfficientNet-Lite with its widths and depths multiplied. Widths are rounded to
    /// multiples of 8; the first and the last stage keep their depth.
    #[must_use]
    pub fn efficientnet_lite(width: f64, depth: f64) -> Self {
        /// Expansion, kernel, stride, width, blocks.
        const STAGES: [[usize; 5]; 7] = [
            [1, 3, 1, 16, 1],
            [6, 3, 2, 24, 2],
            [6, 5, 2, 40, 2],
            [6, 3, 2, 80, 3],
            [6, 5, 1, 112, 3],
            [6, 5, 2, 192, 4],
            [6, 3, 1, 320, 1],
        ];
        let round = |channels: usize| {
            let scaled = channels as f64 * width;
            let rounded = ((scaled + 4.0) as usize / 8 * 8).max(8);
            // Rounding down may lose at most a tenth of the width.
            let is_too_narrow = (rounded as f64) < 0.9 * scaled;
            rounded + 8 * usize::from(is_too_narrow)
        };
        let stage = |(at, stage): (usize, &[usize; 5])| {
            let [expand, kernel, stride, channels, blocks] = *stage;
            let ends = at == 0 || at + 1 == STAGES.len();
            let deep = match ends {
                true => blocks,
                false => (blocks as f64 * depth).ceil() as usize,
            };
            InvertedStage::new(expand, kernel, stride, round(channels), deep)
        };
        Self::new(32, STAGES.iter().enumerate().map(stage).collect())
    }

    /// Returns the sizes of all blocks, in order.
    #[must_use]
    pub fn blocks(&self) -> Vec<BlockSizes> {
        let mut d_in = self.stem_width;
        let mut out = Vec::new();
        for stage in &self.stages {
            for at in 0..stage.blocks {
                out.push(BlockSizes {
                    d_in,
                    d_inner: d_in.saturating_mul(stage.expand),
                    d_out: stage.width,
                    expands: stage.expand != 1,
                    kernel: stage.kernel,
                    stride: if at == 0 { stage.stride } else { 1 },
                });
                d_in = stage.width;
            }
        }
        out
    }

    /// Returns the stride of the last feature map, in pixels of the image.
    #[must_use]
    pub fn stride(&self) -> usize {
        let strides = self.stages.iter().map(|stage| stage.stride);
        strides.fold(2, usize::saturating_mul)
    }

    /// Returns the number of parameters with a last convolution to `head` channels, without running
    /// statistics.
    pub(crate) fn parameters(&self, head: usize) -> usize {
        // A norm has a gain and an offset; after folding only the offset remains, as a bias.
        let a_norm = if self.norms == Norms::Folded { 1 } else { 2 };
        let block = |b: BlockSizes| {
            let expand = usize::from(b.expands) * b.d_inner * (b.d_in + a_norm);
            let depthwise = b.d_inner * (b.kernel * b.kernel + a_norm);
            expand + depthwise + b.d_out * (b.d_inner + a_norm)
        };
        let blocks = self.blocks();
        let last = blocks.last().map_or(self.stem_width, |b| b.d_out);
        let stem = self.stem_width * (27 + a_norm);
        stem + blocks.into_iter().map(block).sum::<usize>() + head * (last + a_norm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_and_depths_are_the_published_ones() {
        let of = |width, depth| {
            let stages = InvertedConfig::efficientnet_lite(width, depth).stages;
            let widths: Vec<usize> = stages.iter().map(|s| s.width).collect();
            let blocks: Vec<usize> = stages.iter().map(|s| s.blocks).collect();
            (widths, blocks)
        };
        let widths = vec![16, 24, 40, 80, 112, 192, 320];
        assert_eq!(of(1.0, 1.0), (widths.clone(), vec![1, 2, 2, 3, 3, 4, 1]));
        assert_eq!(of(1.0, 1.1), (widths, vec![1, 3, 3, 4, 4, 5, 1]));
        let wide = vec![16, 24, 48, 88, 120, 208, 352];
        assert_eq!(of(1.1, 1.2), (wide, vec![1, 3, 3, 4, 4, 5, 1]));
    }

    #[test]
    fn lite0_has_the_published_number_of_parameters() {
        // 4.65 million with the classifier, which has 1,280 x 1,000 weights and 1,000 biases.
        let lite0 = InvertedConfig::efficientnet_lite(1.0, 1.0);
        assert_eq!(lite0.parameters(1280), 3_371_008);
        assert_eq!(lite0.parameters(1280) + 1_281_000, 4_652_008);
    }
}
