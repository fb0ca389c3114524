//! Contrast of pictures with the texts of all labels.
//!
//! In a batch, captions of the same label are false negatives of each other, and most labels are
//! not there at all. Here every picture is told apart from all labels at once, through their texts
//! (Yang et al. 2022, "Unified Contrastive Learning in Image-Text-Label Space", with the labels of
//! the whole set as the batch of texts). The target may spend a share on the labels that are near
//! in the taxonomy.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use super::terms::LossTerms;

/// `-mean over pictures of sum over labels of target * log_softmax(s g)`; a picture whose targets
/// are all 0 has no label and takes no part.
///
/// # Shapes
/// `g [b, l]` similarities of pictures and labels, `targets [b, l]` with rows that sum to 1 or
/// are 0, `scale [1] -> [1]`
#[must_use]
pub fn label_contrast(g: Tensor<2>, targets: Tensor<2>, scale: Tensor<1>) -> Tensor<1> {
    let known = targets.clone().sum().clamp_min(1.0);
    let likely = log_softmax(g * scale.unsqueeze(), 1);
    (likely * targets).sum().neg() / known
}

impl LossTerms {
    /// The loss with `weight` times a further term.
    #[must_use]
    pub fn plus(mut self, name: &'static str, weight: f64, term: Tensor<1>) -> Self {
        self.total = self.total + term.clone() * weight;
        self.named.push((name, term.inner()));
        self
    }
}
