//! Likelihood of the key that belongs to each query.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// Computes the sum over rows of `-log softmax(logits)[i, first + i]`.
///
/// # Shapes
/// `[n, b] -> [1]`
pub(super) fn negative_log_likelihood(logits: Tensor<2>, first: usize) -> Tensor<1> {
    let [rows, _] = logits.dims();
    let own = first as i64..(first + rows) as i64;
    let target = Tensor::<1, Int>::arange(own, &logits.device()).reshape([rows, 1]);
    log_softmax(logits, 1).gather(1, target).sum().neg()
}
