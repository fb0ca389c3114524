//! MERU: images lie in the cones of their captions (notation 2.2).

use burn::tensor::Tensor;

use super::contrastive::Contrast;
use super::terms::LossTerms;
use crate::geometry::{AngleFormula, cone, lorentz};

/// Computes `contrastive + weight * entail`: a contrastive loss on distances, and entailment with
/// captions as apexes. The published `weight` is [`ENTAIL_WEIGHT`](super::ENTAIL_WEIGHT).
///
/// # Shapes
/// `images, texts [b, d]`, `c [1, 1]`
#[must_use]
pub fn meru(
    images: Tensor<2>,
    texts: Tensor<2>,
    c: Tensor<2>,
    contrast: impl Into<Contrast>,
    weight: f64,
    form: AngleFormula,
) -> LossTerms {
    let similarity = |x, y, [c]: [Tensor<2>; 1]| lorentz::pairwise_dist(x, y, c).neg();
    let contrast = contrast.into();
    let contrastive = contrast.both_ways([&images, &texts], [&c], similarity);
    let entail = cone::entailment_gap(texts, images, c, 1.0, form).mean();
    let total = contrastive.clone() + entail.clone() * weight;
    LossTerms::new(
        total,
        vec![("contrastive", contrastive), ("entail", entail)],
    )
}
