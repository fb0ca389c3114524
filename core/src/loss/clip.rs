//! CLIP: contrastive loss on cosine similarities, in both directions (notation 2.1).

use burn::tensor::Tensor;

use super::contrastive::contrastive;
use super::terms::LossTerms;

/// Computes `(CE(s X Y^T) + CE(s Y X^T)) / 2` for unit vectors.
///
/// # Shapes
/// `images, texts [b, d]`, `scale [1]`
#[must_use]
pub fn clip(images: Tensor<2>, texts: Tensor<2>, scale: Tensor<1>) -> LossTerms {
    let total = contrastive(images.matmul(texts.transpose()), scale);
    LossTerms::new(total.clone(), vec![("contrastive", total)])
}
