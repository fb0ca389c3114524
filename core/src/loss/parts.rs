//! Visual hierarchies: wholes and their parts, images only (notation 2.9).
//!
//! Angles serve as similarities. A part should lie straight outward from its whole, so the interior
//! angle `beta = pi - oxy(whole, part)` should be large, and so should the exterior angle at the
//! part.

use std::f64::consts::PI;

use burn::tensor::{Bool, Tensor};

use super::terms::LossTerms;
use crate::geometry::{cone, radial};

/// Logit of entries that are excluded from a softmax; far below any angle divided by any
/// temperature.
const NEVER: f64 = -1e30;

/// Which wholes entail which parts in a batch.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Pairs to train on, `[n, m]`; each is also a relation.
    pub pairs: Tensor<2, Bool>,
    /// All known relations, `[n, m]`; such pairs are never used as negatives.
    pub entails: Tensor<2, Bool>,
}

/// Computes the mean over the pairs of `-log(e^s / (e^s + sum over negatives e^s'))`, with
/// candidates in columns.
fn softmax_over_negatives(
    logits: Tensor<2>,
    pairs: Tensor<2, Bool>,
    entails: Tensor<2, Bool>,
) -> Tensor<1> {
    let negatives = logits.clone().mask_fill(entails, NEVER);
    // Log-sum-exp over the candidates; the subtracted maximum is a constant for the gradient.
    let top = negatives.clone().detach().max_dim(1);
    let rest = (negatives - top.clone()).exp().sum_dim(1).log() + top;
    // -log(e^s / (e^s + e^rest)) = softplus(rest - s), computed without overflow.
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

/// Computes `L_pc + L_cp` in the Lorentz model; `scale` is `1 / tau`.
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

/// Computes the Euclidean variant: exterior angles about zero, no exponential map.
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
