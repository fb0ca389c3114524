//! The contrastive term: classification of the key that belongs to each query.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// Computes the cross-entropy with the diagonal as target: the mean of `-log softmax(L)[i, i]`.
///
/// # Shapes
/// `[b, b] -> [1]`
#[must_use]
pub fn cross_entropy_diagonal(logits: Tensor<2>) -> Tensor<1> {
    let [rows, _] = logits.dims();
    let target = Tensor::<1, Int>::arange(0..rows as i64, &logits.device()).reshape([rows, 1]);
    log_softmax(logits, 1).gather(1, target).mean().neg()
}

/// Computes the loss of similarities `g` in both directions: `(CE(s g) + CE(s g^T)) / 2` (notation
/// 2.1, 2.2).
///
/// # Shapes
/// `g [b, b]`, `scale [1] -> [1]`
#[must_use]
pub fn contrastive(g: Tensor<2>, scale: Tensor<1>) -> Tensor<1> {
    let logits = g * scale.unsqueeze();
    (cross_entropy_diagonal(logits.clone()) + cross_entropy_diagonal(logits.transpose())) * 0.5
}
