//! CLIP: contrastive loss on cosine similarities, in both directions (notation 2.1).

use burn::tensor::Tensor;

use super::contrastive::Contrast;
use super::terms::LossTerms;

/// Computes `(CE(s X Y^T) + CE(s Y X^T)) / 2` for unit vectors.
///
/// # Shapes
/// `images, texts [b, d]`
#[must_use]
pub fn clip(images: Tensor<2>, texts: Tensor<2>, contrast: impl Into<Contrast>) -> LossTerms {
    let cosines = |x: Tensor<2>, y: Tensor<2>, []: [Tensor<2>; 0]| x.matmul(y.transpose());
    let total = contrast.into().both_ways([&images, &texts], [], cosines);
    LossTerms::new(total.clone(), vec![("contrastive", total)])
}
