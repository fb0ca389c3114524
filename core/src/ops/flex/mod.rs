//! Own operations for tensors of Burn's CPU backend.
//!
//! Each function returns `None` for tensors of another backend or type.

mod affine;
mod array;
mod attention;
mod batch_norm;
mod convolution;
mod gelu;
mod layer_norm;
mod linear;
mod node;
mod rectify;
mod residual;
mod standardise;

pub use attention::attention;
pub use batch_norm::batch_norm;
pub use convolution::conv2d;
pub use gelu::gelu;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use node::use_own;
pub use rectify::{relu, relu6};
pub use residual::add_scaled;
pub use standardise::standardised;

use burn::tensor::Tensor;

/// See [`are_own`](crate::ops::are_own).
pub fn are_own<const D: usize>(x: &Tensor<D>) -> bool {
    node::is_own(&x.clone().into_dispatch())
}
