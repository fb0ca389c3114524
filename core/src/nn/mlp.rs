//! The feed-forward layers of a transformer block.

use burn::config::Config;
use burn::module::{Module, Param};
use burn::nn::{Initializer, Linear};
use burn::tensor::{Device, Tensor};

use super::layer_config::Activation;
use crate::ops;

/// Builds a linear layer with normal weights and zero bias.
pub(crate) fn linear(d_in: usize, d_out: usize, std: f64, device: &Device) -> Linear {
    let weight = Initializer::Normal { mean: 0.0, std }.init([d_in, d_out], device);
    let bias = Some(Param::from_tensor(Tensor::zeros([d_out], device)));
    Linear { weight, bias }
}

/// Configuration of [`Mlp`].
#[derive(Config, Debug)]
pub struct MlpConfig {
    /// Width of the tokens.
    pub d_model: usize,
    /// Width of the hidden layer, usually `4 d_model`.
    pub d_hidden: usize,
    /// Non-linearity between the two layers.
    #[config(default = "Activation::Gelu")]
    pub activation: Activation,
    /// Standard deviation of the first layer's initial weights.
    #[config(default = 0.02)]
    pub std_in: f64,
    /// Standard deviation of the second layer's initial weights.
    #[config(default = 0.02)]
    pub std_out: f64,
}

/// `fc2(activation(fc1(x)))`.
#[derive(Module, Debug)]
pub struct Mlp {
    /// Widening layer.
    pub fc1: Linear,
    /// Narrowing layer.
    pub fc2: Linear,
    #[module(skip)]
    activation: Activation,
}

impl MlpConfig {
    /// Builds the layers on a device.
    pub fn init(&self, device: &Device) -> Mlp {
        Mlp {
            fc1: linear(self.d_model, self.d_hidden, self.std_in, device),
            fc2: linear(self.d_hidden, self.d_model, self.std_out, device),
            activation: self.activation,
        }
    }
}

impl Mlp {
    /// # Shapes
    /// `[.., d_model] -> [.., d_model]`
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        ops::feed_forward([&self.fc1, &self.fc2], self.activation.into(), x)
    }
}
