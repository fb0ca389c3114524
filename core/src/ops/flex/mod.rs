//! Own operations for tensors of Burn's CPU backend.
//!
//! Each function returns `None` for tensors of another backend or type.

mod affine;
mod array;
mod convolution;
mod feed_forward;
mod linear;
mod node;
mod operations;

pub use convolution::conv2d;
pub use feed_forward::feed_forward;
pub use linear::linear;
pub use node::use_own;
pub use operations::{
    add_scaled, attention, batch_norm, layer_norm, relu, relu6, standardised, sum_of_squares,
};

use burn::tensor::Tensor;

/// See [`are_own`](crate::ops::are_own).
pub fn are_own<const D: usize>(x: &Tensor<D>) -> bool {
    node::is_own(&x.clone().into_dispatch())
}
