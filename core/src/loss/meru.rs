//! MERU: images lie in the cones of their captions (notation 2.2).

use burn::tensor::Tensor;

use super::contrastive::contrastive;
use super::terms::LossTerms;
use crate::geometry::{AngleFormula, cone, lorentz};

/// Computes `contrastive + weight * entail`: a contrastive loss on distances, and entailment with
/// captions as apexes. The published `weight` is [`ENTAIL_WEIGHT`](super::ENTAIL_WEIGHT).
///
/// # Shapes
/// `images, texts [b, d]`, `c [1, 1]`, `scale [1]`
#[must_use]
pub fn meru(
    images: Tensor<2>,
    texts: Tensor<2>,
    c: Tensor<2>,
    scale: Tensor<1>,
    weight: f64,
    form: AngleFormula,
) -> LossTerms {
    let g = lorentz::pairwise_dist(images.clone(), texts.clone(), c.clone()).neg();
    let contrastive = contrastive(g, scale);
    let entail = cone::entailment_gap(texts, images, c, 1.0, form).mean();
    let total = contrastive.clone() + entail.clone() * weight;
    LossTerms::new(
        total,
        vec![("contrastive", contrastive), ("entail", entail)],
    )
}
