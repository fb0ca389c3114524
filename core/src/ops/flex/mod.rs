//! Own operations for tensors of Burn's CPU backend.
//!
//! Each function returns `None` for tensors of another backend or type.

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

use std::sync::atomic::{AtomicBool, Ordering};

pub use attention::attention;
pub use batch_norm::batch_norm;
pub use convolution::conv2d;
pub use gelu::gelu;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use rectify::{relu, relu6};
pub use residual::add_scaled;
pub use standardise::standardised;

use burn::tensor::Tensor;

static IN_USE: AtomicBool = AtomicBool::new(true);

/// Chooses whether the own operations are used, in the whole process; they are at the start. Tests
/// and measurements compare both.
pub fn use_own(own: bool) {
    IN_USE.store(own, Ordering::Relaxed);
}

/// See [`are_own`](crate::ops::are_own).
pub fn are_own<const D: usize>(x: &Tensor<D>) -> bool {
    in_use() && node::is_own(&x.clone().into_dispatch())
}

/// Returns whether the own operations are used.
fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}
