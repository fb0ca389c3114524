//! Images to tokens: one linear map of each non-overlapping patch.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::module::linear;
use burn::tensor::{Device, Tensor};

/// Configuration of [`PatchEmbed`].
#[derive(Config, Debug)]
pub struct PatchEmbedConfig {
    /// Side of a patch in pixels.
    pub patch: usize,
    /// Width of the tokens.
    pub d_model: usize,
    /// Whether the map has a bias (MERU family yes, CLIP no).
    #[config(default = true)]
    pub bias: bool,
}

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

impl PatchEmbedConfig {
    /// Builds the layer on a device. Weight and bias are initialised uniformly in
    /// `+-1/sqrt(3 patch^2)`.
    pub fn init(&self, device: &Device) -> PatchEmbed {
        let bound = 1.0 / ((3 * self.patch * self.patch) as f64).sqrt();
        let uniform = Initializer::Uniform {
            min: -bound,
            max: bound,
        };
        PatchEmbed {
            proj: PatchProjection {
                weight: uniform.init([self.d_model, 3, self.patch, self.patch], device),
                bias: self.bias.then(|| uniform.init([self.d_model], device)),
            },
        }
    }
}

impl PatchEmbed {
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
