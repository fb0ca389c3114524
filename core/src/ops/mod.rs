//! The operations of the layers that Burn's CPU backend computes slowly.
//!
//! Each function has Burn's meaning. With the feature `flex-ops`, tensors of 32 bits on Burn's CPU
//! backend (with or without a graph, and with gradient checkpointing) are computed by the functions
//! of `espalier_kernels::grad`, forward and backward. All other tensors, and all tensors without the feature,
//! take Burn's own path.

mod adamw;
#[cfg(feature = "flex-ops")]
mod flex;
mod types;

use burn::nn::{LayerNorm, Linear};
use burn::tensor::module::{attention as burn_attention, batch_norm_train, conv2d as burn_conv2d};
use burn::tensor::ops::{AttentionModuleOptions, ConvOptions};
use burn::tensor::{Tensor, activation};
use espalier_kernels::Gelu;

pub use adamw::AdamWStep;
#[cfg(feature = "flex-ops")]
pub use flex::use_own;
pub use types::{ConvSizes, Normed};

/// Returns whether the operations on a tensor are not Burn's.
#[must_use]
pub fn are_own<const D: usize>(x: &Tensor<D>) -> bool {
    #[cfg(feature = "flex-ops")]
    let own = flex::are_own(x);
    #[cfg(not(feature = "flex-ops"))]
    let own = {
        let _ = x;
        false
    };
    own
}

/// Applies a linear layer to the last axis.
///
/// # Shapes
/// `[.., inputs] -> [.., outputs]`
pub fn linear<const D: usize>(layer: &Linear, x: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::linear(layer, &x) {
        return output;
    }
    layer.forward(x)
}

/// Applies two linear layers to the last axis, and GELU between them.
///
/// # Shapes
/// `[.., width] -> [.., width]`
pub fn feed_forward<const D: usize>(
    [first, second]: [&Linear; 2],
    gelu: Gelu,
    x: Tensor<D>,
) -> Tensor<D> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::feed_forward([first, second], gelu, &x) {
        return output;
    }
    let hidden = linear(first, x);
    let hidden = match gelu {
        Gelu::Exact => activation::gelu(hidden),
        Gelu::Quick => hidden.clone() * activation::sigmoid(hidden * 1.702),
    };
    linear(second, hidden)
}

/// Normalises the last axis; `eps` is that of the layer, which does not give it back.
///
/// # Shapes
/// `[.., width] -> [.., width]`
pub fn layer_norm<const D: usize>(layer: &LayerNorm, eps: f64, x: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::layer_norm(layer, eps, &x) {
        return output;
    }
    let _ = eps;
    layer.forward(x)
}

/// Computes `softmax(q k^T / sqrt(head width)) v` of each head. A row of the input holds the query,
/// the key and the value of a token. With `causal` a token attends only to itself and to the tokens
/// before it.
///
/// # Shapes
/// `[batch, tokens, 3 width] -> [batch, tokens, width]`
pub fn attention(qkv: Tensor<3>, heads: usize, causal: bool) -> Tensor<3> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::attention(&qkv, heads, causal) {
        return output;
    }
    let [batch, tokens, width] = qkv.dims();
    let width = width / 3;
    let part = |i: usize| {
        qkv.clone()
            .narrow(2, i * width, width)
            .reshape([batch, tokens, heads, width / heads])
            .swap_dims(1, 2) // [batch, heads, tokens, head width]
    };
    let options = AttentionModuleOptions {
        is_causal: causal,
        ..Default::default()
    };
    let output = burn_attention(part(0), part(1), part(2), None, None, options);
    output.swap_dims(1, 2).reshape([batch, tokens, width])
}

/// Computes a two-dimensional convolution.
///
/// # Shapes
/// `x [batch, d_in, h, w]`, `weight [d_out, d_in / groups, rows, columns]`, `bias [d_out] -> [batch,
/// d_out, h_out, w_out]`
pub fn conv2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    sizes: ConvSizes,
) -> Tensor<4> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::conv2d(&x, &weight, bias.as_ref(), sizes) {
        return output;
    }
    let stride = [sizes.stride; 2];
    let options = ConvOptions::new_with_padding(stride, sizes.padding, [1, 1], sizes.groups);
    burn_conv2d(x, weight, bias, options)
}

/// Computes `max(x, 0)` of every value.
pub fn relu<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::relu(&x) {
        return output;
    }
    activation::relu(x)
}

/// Computes `min(max(x, 0), 6)` of every value.
pub fn relu6<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::relu6(&x) {
        return output;
    }
    // On a CPU two clamps with one bound each are faster than one with both.
    x.clamp_min(0.0).clamp_max(6.0)
}

/// Computes `x + gain branch`.
///
/// # Shapes
/// `x [batch, d, h, w]`, `branch [batch, d, h, w]`, `gain [1] -> [batch, d, h, w]`
pub fn add_scaled(x: Tensor<4>, branch: Tensor<4>, gain: Tensor<1>) -> Tensor<4> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::add_scaled(&x, &branch, &gain) {
        return output;
    }
    x + branch * gain.unsqueeze()
}

/// Returns the sum of the squares of all values, without a graph.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    #[cfg(feature = "flex-ops")]
    if let Some(sum) = flex::sum_of_squares(&x) {
        return sum;
    }
    x.square().sum()
}

/// Shifts each kernel to mean 0 and divides it by its norm plus `eps`, then multiplies it by its
/// gain.
///
/// # Shapes
/// `weight [d_out, d_in, rows, columns]`, `gain [d_out] -> [d_out, d_in, rows, columns]`
pub fn standardised(weight: Tensor<4>, gain: Tensor<1>, eps: f64) -> Tensor<4> {
    #[cfg(feature = "flex-ops")]
    if let Some(output) = flex::standardised(&weight, &gain, eps) {
        return output;
    }
    let shape = weight.dims();
    let [d_out, ..] = shape;
    let rows = weight.reshape([d_out, shape[1..].iter().product()]);
    let centred = rows.clone() - rows.mean_dim(1);
    let norm = (centred.clone() * centred.clone()).sum_dim(1).sqrt() + eps;
    let gain = gain.unsqueeze_dim(1) / norm;
    (centred * gain).reshape(shape)
}

/// Normalises each channel of a tensor with a graph by the statistics of the batch; then, if wanted, applies
/// [`relu6`].
///
/// # Shapes
/// `x [batch, channels, h, w]`, `gamma [channels]`, `beta [channels]`
pub fn batch_norm(
    x: Tensor<4>,
    [gamma, beta]: [Tensor<1>; 2],
    eps: f64,
    then_relu6: bool,
) -> Normed {
    #[cfg(feature = "flex-ops")]
    if let Some(normed) = flex::batch_norm(&x, [&gamma, &beta], eps, then_relu6) {
        return normed;
    }
    let normed = batch_norm_train(x, gamma, beta, eps);
    Normed {
        output: if then_relu6 {
            relu6(normed.output)
        } else {
            normed.output
        },
        mean: normed.mean.inner(),
        variance: normed.variance.inner(),
    }
}
