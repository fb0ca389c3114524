//! RE: chains of texts ordered by angles relative to a learned root; EC: its variants with cones
//! (notation 2.5, 2.6).

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::terms::LossTerms;
use crate::geometry::radial;
use crate::math::{clamp_min, dot};

/// Unit vectors of `b` chains of `n` tiers, from general to specific.
#[derive(Clone, Debug)]
pub struct Chains {
    /// Positives `P_1 .. P_n`, `[b, n, d]`.
    pub positives: Tensor<3>,
    /// Negatives `N_1 .. N_n`, `[b, n, d]`: `N_i` contradicts `P_i` and follows from `P_{i-1}`.
    pub negatives: Tensor<3>,
    /// Root, `[1, d]`.
    pub root: Tensor<2>,
    /// The embeddings of the same positives and negatives by the frozen model, `[2 b n, d]`; none
    /// without the pull-back term.
    pub frozen: Option<Tensor<2>>,
}

/// Position of the margin of a cone; the paper has both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginSide {
    /// `relu(sign (Xi - theta) + m)`: approaches RE as `m` grows.
    Outside,
    /// `relu(sign (Xi - theta + m))`: shrinks the margin of negatives.
    Inside,
}

/// Term of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PairTerm {
    /// The angle; for negatives, minus the angle (RE).
    Angle,
    /// The amount by which the angle is on the wrong side of the cone (EC).
    Cone {
        /// Margin `m` in radians, 0 for plain cones.
        margin: f64,
        /// Position of the margin.
        side: MarginSide,
    },
}

/// Weights of the terms of the loss; [`Default`] is as published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadialWeights {
    /// Term of a pair.
    pub term: PairTerm,
    /// Weight of the hard mined pairs.
    pub mined: f64,
    /// Weight of the term that keeps embeddings close to the frozen model.
    pub pull_back: f64,
    /// Weight of the terms of negatives (1, or 0 to leave them out).
    pub negatives: f64,
}

impl Default for RadialWeights {
    fn default() -> Self {
        Self {
            term: PairTerm::Angle,
            mined: 1.0,
            pull_back: 10.0,
            negatives: 1.0,
        }
    }
}

impl PairTerm {
    /// Computes the term of pairs `apex -> other`; `other` should lie outward from the apex if
    /// `positive`, and should not otherwise.
    fn of(self, apex: Tensor<3>, other: Tensor<3>, root: Tensor<3>, positive: bool) -> Tensor<3> {
        let xi = radial::exterior_angle(apex.clone(), other, root.clone());
        let sign = if positive { 1.0 } else { -1.0 };
        match self {
            Self::Angle => xi * sign,
            Self::Cone { margin, side } => {
                let gap = xi - radial::half_aperture(apex, root);
                let wrong = match side {
                    MarginSide::Outside => gap * sign + margin,
                    MarginSide::Inside => (gap + margin) * sign,
                };
                clamp_min(wrong, 0.0)
            }
        }
    }
}

/// Sums the terms of the pair with the largest positive term and of the pair with the largest
/// negative term, each including the other term of the pair.
fn mined(p: Tensor<1>, n: Tensor<1>) -> Tensor<1> {
    let worst = |of: &Tensor<1>| {
        let at = of.clone().inner().argmax(0);
        let at = if of.is_autodiff() { at.autodiff() } else { at };
        p.clone().select(0, at.clone()) + n.clone().select(0, at)
    };
    worst(&p) + worst(&n)
}

/// Computes `pull_back * ploss + eloss + mined * mloss` (notation 2.5).
///
/// `eloss` is the mean over parents `P_i`, `i < n`, of the positive term toward `P_{i+1}` plus the
/// negative term toward `N_i`.
///
/// # Panics
/// When there are fewer than two tiers.
#[must_use]
pub fn radial(chains: &Chains, weights: RadialWeights) -> LossTerms {
    let [b, n, d] = chains.positives.dims();
    assert!(n >= 2, "a chain has at least two tiers");
    let parents = chains.positives.clone().narrow(1, 0, n - 1);
    let children = chains.positives.clone().narrow(1, 1, n - 1);
    let contradictions = chains.negatives.clone().narrow(1, 0, n - 1);
    let root = chains.root.clone().unsqueeze::<3>();

    let flat = |t: Tensor<3>| t.reshape([b * (n - 1)]);
    let p = flat(
        weights
            .term
            .of(parents.clone(), children, root.clone(), true),
    );
    let m = flat(weights.term.of(parents, contradictions, root, false)) * weights.negatives;
    let (positive, negative) = (p.clone().mean(), m.clone().mean());
    let eloss = positive.clone() + negative.clone();
    let mloss = mined(p, m);
    let mut total = eloss.clone() + mloss.clone() * weights.mined;
    let mut named = vec![
        ("entail", eloss),
        ("entail_positive", positive),
        ("entail_negative", negative),
        ("mined", mloss),
    ];
    if let Some(frozen) = &chains.frozen {
        let both = Tensor::cat(vec![chains.positives.clone(), chains.negatives.clone()], 0);
        let cosine = dot(both.reshape([2 * b * n, d]), frozen.clone()).mean();
        let ploss = (cosine.neg() + 1.0) * 0.5;
        total = total + ploss.clone() * weights.pull_back;
        named.push(("pull_back", ploss));
    }
    LossTerms::new(total, named)
}
