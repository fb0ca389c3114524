//! Visual hierarchies: wholes and their parts, pictures only (notation 2.9).
//!
//! Angles are the similarities: a part should lie straight outward of its whole, so the interior
//! angle `beta = pi - oxy(whole, part)` is to be large, and so is the exterior angle at the part.

use std::f64::consts::PI;

use burn::tensor::{Bool, Tensor};

use super::terms::LossTerms;
use crate::geometry::{cone, radial};

/// Fill of what takes no part in a softmax; far below any angle over any temperature.
const NEVER: f64 = -1e30;

/// Which wholes entail which parts in a batch.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Pairs to train on, `[n, m]`; each is also a relation.
    pub pairs: Tensor<2, Bool>,
    /// All known relations, `[n, m]`: what is true here is nobody's negative.
    pub entails: Tensor<2, Bool>,
}

/// Mean over the pairs of `-log(e^s / (e^s + sum over negatives e^s'))`, candidates in columns.
fn softmax_over_negatives(
    logits: Tensor<2>,
    pairs: Tensor<2, Bool>,
    entails: Tensor<2, Bool>,
) -> Tensor<1> {
    let negatives = logits.clone().mask_fill(entails, NEVER);
    // log-sum-exp over the candidates; the largest is a constant for the gradient.
    let top = negatives.clone().inner().max_dim(1);
    let top = if negatives.is_autodiff() {
        top.autodiff()
    } else {
        top
    };
    let rest = (negatives - top.clone()).exp().sum_dim(1).log() + top;
    // -log(e^s / (e^s + e^rest)) = softplus(rest - s), without overflow.
    let gap = rest - logits;
    let size = gap.clone().abs();
    let positive = (gap.clone() + size.clone()) * 0.5;
    let each = positive + size.neg().exp().log1p();
    let others = pairs.bool_not();
    let count = each.ones_like().mask_fill(others.clone(), 0.0).sum();
    each.mask_fill(others, 0.0).sum() / count.clamp_min(1.0)
}

fn two_ways(at_whole: Tensor<2>, at_part: Tensor<2>, scale: Tensor<1>, r: &Relations) -> LossTerms {
    let scale = scale.unsqueeze::<2>();
    let to_part = softmax_over_negatives(
        (at_whole.neg() + PI) * scale.clone(),
        r.pairs.clone(),
        r.entails.clone(),
    );
    let to_whole = softmax_over_negatives(
        at_part * scale,
        r.pairs.clone().transpose(),
        r.entails.clone().transpose(),
    );
    let total = to_part.clone() + to_whole.clone();
    LossTerms::new(
        total.clone(),
        vec![
            ("contrastive", total),
            ("whole_to_part", to_part),
            ("part_to_whole", to_whole),
        ],
    )
}

/// `L_pc + L_cp` in the Lorentz model; `scale` is `1 / tau`.
///
/// # Shapes
/// `wholes [n, d]`, `parts [m, d]`, `c [1, 1]`, `scale [1]`
#[must_use]
pub fn parts(
    wholes: Tensor<2>,
    parts: Tensor<2>,
    c: Tensor<2>,
    scale: Tensor<1>,
    relations: &Relations,
) -> LossTerms {
    let at_whole = cone::pairwise_exterior_angle(wholes.clone(), parts.clone(), c.clone());
    let at_part = cone::pairwise_exterior_angle(parts, wholes, c);
    two_ways(at_whole, at_part, scale, relations)
}

/// The Euclidean variant: exterior angles about zero, no exponential map.
///
/// # Shapes
/// `wholes [n, d]`, `parts [m, d]`, `scale [1]`
#[must_use]
pub fn parts_euclidean(
    wholes: Tensor<2>,
    parts: Tensor<2>,
    scale: Tensor<1>,
    relations: &Relations,
) -> LossTerms {
    let at_whole = radial::pairwise_exterior_angle(wholes.clone(), parts.clone());
    let at_part = radial::pairwise_exterior_angle(parts, wholes);
    two_ways(at_whole, at_part, scale, relations)
}
