//! PHyCLIP: HyCoCLIP in a product of Lorentz factors (notation 2.4).

use burn::tensor::Tensor;

use super::contrastive::Contrast;
use super::hycoclip::{HycoclipPoints, HycoclipWeights, compose};
use super::terms::LossTerms;
use crate::geometry::{DistanceReduction, product};

/// Computes [`hycoclip`](super::hycoclip()) with the combined distance of the factors and with each
/// entailment averaged over the factors; `eps` is [`product::EPS`].
///
/// # Shapes
/// points `[k, b, d]`, `c [k, 1, 1]`
#[must_use]
pub fn phyclip(
    points: &HycoclipPoints<3>,
    c: Tensor<3>,
    contrast: impl Into<Contrast>,
    join: DistanceReduction,
    weights: HycoclipWeights,
) -> LossTerms {
    let dist = |x, y, c| product::pairwise_dist(x, y, c, join);
    compose(points, dist, c, &contrast.into(), (weights, product::EPS))
}
