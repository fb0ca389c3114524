//! Weights of layers, read from their tensors.

use burn::nn::{LayerNorm, Linear};
use burn::tensor::Tensor;

use super::layer_norm::RowNorm;
use super::product::PackedWeights;
use crate::error::{CoreError, Result};

/// Reads the values of a tensor.
pub(super) fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.into_data().convert::<f32>();
    let values = data.try_into_vec();
    values.map_err(|e| CoreError::Device(format!("a weight has another type: {e:?}")))
}

/// Packs a linear layer.
pub(super) fn packed(linear: &Linear) -> Result<PackedWeights> {
    let weight = linear.weight.val();
    let [inputs, outputs] = weight.dims();
    let weight = values(weight)?;
    let bias = linear.bias.as_ref().map(|bias| values(bias.val()));
    let bias = bias.transpose()?.unwrap_or_else(|| vec![0.0; outputs]);
    Ok(PackedWeights::new(inputs, &bias, |output, input| {
        weight[input * outputs + output]
    }))
}

/// Reads a layer norm, which does not give its `eps` back.
pub(super) fn row_norm(norm: &LayerNorm, eps: f64) -> Result<RowNorm> {
    let gamma = values(norm.gamma.val())?;
    let beta = norm.beta.as_ref().map(|beta| values(beta.val()));
    let beta = beta.transpose()?.unwrap_or_else(|| vec![0.0; gamma.len()]);
    Ok(RowNorm::new(gamma, beta, eps as f32))
}
