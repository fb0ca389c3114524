//! The random weights that a model begins with.

use burn::tensor::Device;
use espalier_core::model::DualConfig;
use espalier_core::weights::{Tensors, collect};

use crate::device::Backend;

/// Returns the tensors of a model with random weights, which the seed alone determines: they are drawn on the CPU
/// where the program supports it, whatever backend the model is to run on.
///
/// # Errors
/// Fails without any device, and for weights that cannot be read back.
pub fn first_weights(config: &DualConfig, seed: u64) -> anyhow::Result<Tensors> {
    let device = device()?;
    device.seed(seed);
    Ok(collect(&config.init(&device))?)
}

/// Returns the CPU device if the program supports it, since each backend has random numbers of its own; otherwise the
/// default device.
pub(crate) fn device() -> anyhow::Result<Device> {
    Backend::Flex.device().or_else(|_| Backend::Auto.device())
}
