//! Contrastive loss of images against the texts of all labels.
//!
//! In a batch, captions of the same label are false negatives of each other, and most labels are
//! absent. Here every image is compared with all labels at once, through their texts (Yang et al.
//! 2022, "Unified Contrastive Learning in Image-Text-Label Space", with the labels of the whole set
//! as the batch of texts). The target may give a share to labels that are near in the taxonomy.

use burn::tensor::Tensor;
use burn::tensor::activation::log_softmax;

use super::terms::LossTerms;

/// Computes `-mean over images of sum over labels of target * log_softmax(s g)`. An image whose
/// targets are all 0 has no label and is skipped.
///
/// # Shapes
/// `g [b, l]` similarities of images and labels, `targets [b, l]` with rows that sum to 1 or are 0,
/// `scale [1] -> [1]`
#[must_use]
pub fn label_contrast(g: Tensor<2>, targets: Tensor<2>, scale: Tensor<1>) -> Tensor<1> {
    let known = targets.clone().sum().clamp_min(1.0);
    let likely = log_softmax(g * scale.unsqueeze(), 1);
    (likely * targets).sum().neg() / known
}

impl LossTerms {
    /// Adds `weight` times a further term to the loss.
    #[must_use]
    pub fn plus(mut self, name: &'static str, weight: f64, term: Tensor<1>) -> Self {
        self.total = self.total + term.clone() * weight;
        self.named.push((name, term.inner()));
        self
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn a_further_term_counts_by_its_weight() {
        let device = Device::flex();
        let number = |v: f64| Tensor::<1>::from_data([v], &device);
        let loss = LossTerms::new(number(5.0), vec![("first", number(5.0))]);
        let more = loss.plus("second", 0.25, number(8.0));
        assert_eq!(more.total.into_scalar::<f32>(), 7.0);
        let names: Vec<&str> = more.named.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["first", "second"]);
        assert_eq!(more.named[1].1.clone().into_scalar::<f32>(), 8.0);
    }
}
