//! Inverted residuals: expand, filter each channel, project, add (Sandler et al. 2018).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::batch_norm::BatchNorm;
use super::inverted_config::{BlockSizes, InvertedConfig, Norms};
use super::same_conv::{SameConv, SameConvSizes};

/// One inverted residual. Fields have the names of the published files without the leading `_`.
#[derive(Module, Debug)]
pub struct InvertedResidual {
    /// 1x1 convolution that widens; absent if the block does not expand.
    pub expand_conv: Option<SameConv>,
    /// Norm after it.
    pub bn0: Option<BatchNorm>,
    /// Depthwise convolution.
    pub depthwise_conv: SameConv,
    /// Norm after it.
    pub bn1: Option<BatchNorm>,
    /// 1x1 convolution that narrows.
    pub project_conv: SameConv,
    /// Norm after it.
    pub bn2: Option<BatchNorm>,
    #[module(skip)]
    adds_input: bool,
}

/// A stack of inverted residuals between a first and a last convolution.
#[derive(Module, Debug)]
pub struct InvertedResiduals {
    /// 3x3 convolution that halves the side.
    pub conv_stem: SameConv,
    /// Norm after it.
    pub bn0: Option<BatchNorm>,
    /// Blocks.
    pub blocks: Vec<InvertedResidual>,
    /// 1x1 convolution to the width of the feature.
    pub conv_head: SameConv,
    /// Norm after it.
    pub bn1: Option<BatchNorm>,
}

/// Builds the convolutions and norms of one configuration.
struct Maker<'a> {
    config: &'a InvertedConfig,
    device: &'a Device,
}

impl Maker<'_> {
    fn conv(&self, sizes: SameConvSizes) -> (SameConv, Option<BatchNorm>) {
        let InvertedConfig {
            norms,
            norm_eps,
            norm_momentum,
            ..
        } = *self.config;
        let folded = norms == Norms::Folded;
        let by_batch = norms == Norms::Batch;
        let norm = || BatchNorm::new(sizes.d_out, norm_eps, norm_momentum, by_batch, self.device);
        (
            SameConv::new(sizes, folded, self.device),
            (!folded).then(norm),
        )
    }

    /// Builds a 1x1 convolution.
    fn pointwise(&self, d_in: usize, d_out: usize) -> (SameConv, Option<BatchNorm>) {
        self.conv(SameConvSizes {
            d_in,
            d_out,
            kernel: 1,
            stride: 1,
            depthwise: false,
        })
    }

    fn block(&self, sizes: BlockSizes) -> InvertedResidual {
        let widening = sizes
            .expands
            .then(|| self.pointwise(sizes.d_in, sizes.d_inner));
        let (expand_conv, bn0) = widening.map_or((None, None), |(conv, norm)| (Some(conv), norm));
        let (depthwise_conv, bn1) = self.conv(SameConvSizes {
            d_in: sizes.d_inner,
            d_out: sizes.d_inner,
            kernel: sizes.kernel,
            stride: sizes.stride,
            depthwise: true,
        });
        let (project_conv, bn2) = self.pointwise(sizes.d_inner, sizes.d_out);
        InvertedResidual {
            expand_conv,
            bn0,
            depthwise_conv,
            bn1,
            project_conv,
            bn2,
            adds_input: sizes.adds_input(),
        }
    }
}

impl InvertedResidual {
    /// # Shapes
    /// `[batch, d_in, h, w] -> [batch, d_out, ceil(h / stride), ceil(w / stride)]`
    pub fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let wide = match &self.expand_conv {
            Some(conv) => conv.forward_rectified(input.clone(), self.bn0.as_ref()),
            None => input.clone(),
        };
        let filtered = self
            .depthwise_conv
            .forward_rectified(wide, self.bn1.as_ref());
        let out = self
            .project_conv
            .forward_normed(filtered, self.bn2.as_ref());
        if self.adds_input { out + input } else { out }
    }

    fn folded(mut self) -> Self {
        let (bn0, bn1, bn2) = (self.bn0.take(), self.bn1.take(), self.bn2.take());
        self.expand_conv = self.expand_conv.map(|conv| conv.folded(bn0.as_ref()));
        self.depthwise_conv = self.depthwise_conv.folded(bn1.as_ref());
        self.project_conv = self.project_conv.folded(bn2.as_ref());
        self
    }

    fn with_norms(mut self, change: impl Fn(BatchNorm) -> BatchNorm) -> Self {
        self.bn0 = self.bn0.map(&change);
        self.bn1 = self.bn1.map(&change);
        self.bn2 = self.bn2.map(&change);
        self
    }

    fn norms(&self) -> impl Iterator<Item = &BatchNorm> {
        [&self.bn0, &self.bn1, &self.bn2].into_iter().flatten()
    }
}

impl InvertedResiduals {
    /// Builds the encoder on a device, with a last convolution to `d_model` channels.
    #[must_use]
    pub fn new(config: &InvertedConfig, d_model: usize, device: &Device) -> Self {
        let maker = Maker { config, device };
        let (conv_stem, bn0) = maker.conv(SameConvSizes {
            d_in: 3,
            d_out: config.stem_width,
            kernel: 3,
            stride: 2,
            depthwise: false,
        });
        let sizes = config.blocks();
        let last = sizes.last().map_or(config.stem_width, |block| block.d_out);
        let (conv_head, bn1) = maker.pointwise(last, d_model);
        Self {
            conv_stem,
            bn0,
            blocks: sizes.into_iter().map(|block| maker.block(block)).collect(),
            conv_head,
            bn1,
        }
    }

    /// Computes the features of all positions of normalised images of any size; `n` is the stride
    /// of the encoder (32 for EfficientNet-Lite).
    ///
    /// # Shapes
    /// `[batch, 3, h, w] -> [batch, d_model, ceil(h / n), ceil(w / n)]`
    pub fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let x = self.conv_stem.forward_rectified(images, self.bn0.as_ref());
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        self.conv_head.forward_rectified(x, self.bn1.as_ref())
    }

    /// Returns the encoder with the recorded batch statistics merged into the running statistics;
    /// see [`BatchNorm::with_merged_statistics`].
    #[must_use]
    pub fn with_merged_statistics(mut self) -> Self {
        self.bn0 = self.bn0.map(BatchNorm::with_merged_statistics);
        self.bn1 = self.bn1.map(BatchNorm::with_merged_statistics);
        let blocks = self.blocks.into_iter();
        self.blocks = blocks
            .map(|block| block.with_norms(BatchNorm::with_merged_statistics))
            .collect();
        self
    }

    /// Returns the encoder with its norms folded into the convolutions, by their running
    /// statistics. Its configuration is then the one with [`Norms::Folded`].
    #[must_use]
    pub fn folded(mut self) -> Self {
        let (bn0, bn1) = (self.bn0.take(), self.bn1.take());
        self.conv_stem = self.conv_stem.folded(bn0.as_ref());
        self.conv_head = self.conv_head.folded(bn1.as_ref());
        let blocks = self.blocks.into_iter();
        self.blocks = blocks.map(InvertedResidual::folded).collect();
        self
    }

    /// Returns all batch norms, always in the same order.
    pub fn batch_norms(&self) -> impl Iterator<Item = &BatchNorm> {
        let ends = [&self.bn0, &self.bn1].into_iter().flatten();
        ends.chain(self.blocks.iter().flat_map(InvertedResidual::norms))
    }
}
