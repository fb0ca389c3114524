//! Arguments and results of operations.

use burn::tensor::Tensor;

/// Sizes of a two-dimensional convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvSizes {
    /// Stride in pixels.
    pub stride: usize,
    /// Zeros before and after the rows, and before and after the columns.
    pub padding: [(usize, usize); 2],
    /// Number of groups: 1, or the number of channels where each has its own kernel.
    pub groups: usize,
}

/// What a batch norm returns.
pub struct Normed {
    /// Normalised values, `[batch, channels, h, w]`.
    pub output: Tensor<4>,
    /// Mean of each channel, `[channels]`, without a graph.
    pub mean: Tensor<1>,
    /// Population variance of each channel, `[channels]`, without a graph.
    pub variance: Tensor<1>,
}
