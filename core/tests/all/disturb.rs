//! Noise on the parameters of a model.

use burn::module::{ModuleMapper, Param};
use burn::tensor::{Distribution, Tensor};

/// Adds noise to every parameter: as initialised, some biases and gains are 0.
pub struct Disturb;

impl ModuleMapper for Disturb {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|t| {
            let noise = Tensor::random(t.dims(), Distribution::Normal(0.0, 0.02), &t.device());
            t + noise
        })
    }
}
