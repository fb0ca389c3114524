//! Images to tokens: one linear map of each non-overlapping patch.

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::module::linear;
use burn::tensor::{Device, Tensor};

/// The linear map, stored in the layout of a convolution so that published weights fit.
#[derive(Module, Debug)]
pub struct PatchProjection {
    /// Kernel `[d_model, 3, patch, patch]`.
    pub weight: Param<Tensor<4>>,
    /// Bias `[d_model]`.
    pub bias: Option<Param<Tensor<1>>>,
}

/// A convolution whose stride equals its kernel size, computed as a matrix product.
#[derive(Module, Debug)]
pub struct PatchEmbed {
    /// The linear map.
    pub proj: PatchProjection,
}

impl PatchEmbed {
    /// Builds the map of patches of side `patch` to tokens of width `d_model`, with or without a bias
    /// (MERU family with, CLIP without). Both are initialised uniformly in `+-1/sqrt(3 patch^2)`.
    #[must_use]
    pub fn new(patch: usize, d_model: usize, has_bias: bool, device: &Device) -> Self {
        let bound = 1.0 / ((3 * patch * patch) as f64).sqrt();
        let uniform = Initializer::Uniform {
            min: -bound,
            max: bound,
        };
        Self {
            proj: PatchProjection {
                weight: uniform.init([d_model, 3, patch, patch], device),
                bias: has_bias.then(|| uniform.init([d_model], device)),
            },
        }
    }

    /// # Shapes
    /// `[batch, 3, height, width] -> [batch, (height / patch) (width / patch), d_model]`, row major
    pub fn forward(&self, images: Tensor<4>) -> Tensor<3> {
        let weight = self.proj.weight.val();
        let [d_model, channels, patch, _] = weight.dims();
        let [batch, _, height, width] = images.dims();
        let (rows, cols) = (height / patch, width / patch);
        let patches = images
            .reshape([batch, channels, rows, patch, cols, patch])
            .permute([0, 2, 4, 1, 3, 5]) // [batch, rows, cols, channels, patch, patch]
            .reshape([batch, rows * cols, channels * patch * patch]);
        let kernel = weight
            .reshape([d_model, channels * patch * patch])
            .transpose();
        linear(patches, kernel, self.proj.bias.as_ref().map(Param::val))
    }
}
