//! RCME: global and local order along the ranks of a lineage, with images at the last rank
//! (notation 2.7).

use std::f64::consts::FRAC_PI_2;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::clip::clip;
use super::contrastive::Contrast;
use super::terms::LossTerms;
use crate::geometry::radial;
use crate::math::{clamp_max, clamp_min, dot};

/// Starting point of the first leg of an angle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootMode {
    /// The root, as in the paper.
    Root,
    /// The parent of the apex, as in the published code; for the first rank the root.
    Parent,
}

/// Unit vectors of `b` lineages of `n` ranks.
#[derive(Clone, Debug)]
pub struct Lineages {
    /// Texts `T_1 .. T_n`, `[b, n, d]`, from general to specific.
    pub texts: Tensor<3>,
    /// `T^-_2 .. T^-_n`, `[b, n - 1, d]`: at the depth of the child, below a sibling of the apex.
    pub negatives: Tensor<3>,
    /// Root, `[1, d]`.
    pub root: Tensor<2>,
    /// Images of the last rank, `[b, d]`; none if only texts are trained.
    pub images: Option<Tensor<2>>,
    /// The embeddings of the same texts and negatives by a frozen model, `[b (2 n - 1), d]`, for
    /// the ablation that replaces the contrastive term by a pull-back.
    pub frozen: Option<Tensor<2>>,
}

/// Weights of the terms of the loss; [`Default`] is the paper's setting for OpenCLIP weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RcmeWeights {
    /// Starting point of the first leg of the angles.
    pub root_mode: RootMode,
    /// Margin `m` of the global term.
    pub margin: f64,
    /// Weight of the global term.
    pub global: f64,
    /// Weight of the local term.
    pub local: f64,
    /// Weight `beta` of the contrastive term between the last rank and its images: 1 for OpenCLIP
    /// weights, 0.1 for BioCLIP weights.
    pub beta: f64,
    /// Weight of `1 - cos` to the frozen model.
    pub prior: f64,
}

impl Default for RcmeWeights {
    fn default() -> Self {
        Self {
            root_mode: RootMode::Root,
            margin: FRAC_PI_2,
            global: 1.0,
            local: 1.0,
            beta: 1.0,
            prior: 1.0,
        }
    }
}

/// Computes `acos` of a product of clipped cosines, in `[0, pi/2]`; gradient zero at both ends.
fn acos_clipped(s: Tensor<3>) -> Tensor<3> {
    let s = clamp_max(s, 1.0 - 1e-7);
    // 1 - s^2 without cancellation near 1.
    let across = ((s.clone().neg() + 1.0) * (s.clone() + 1.0)).sqrt();
    across.atan2(s)
}

/// Computes the mean over the chains of `global GE + local LE`, plus `beta` times the contrastive
/// term.
///
/// With apex `T_j`, `j = 1 .. n-1` (the root has no direction and is not an apex):
/// `LE_j = Xi(T_j, T_{j+1}) - Xi(T_j, T^-_{j+1})` and, for `j >= 2`,
/// `GE_j = relu(Xi(T_{j-1}, T_{j+1}) - acos(S(T_j, T_{j+1}) S(T_{j-1}, T_j)) + m)` with
/// `S = clip(cos Xi, 0, 1)`.
///
/// # Panics
/// When there are fewer than three ranks.
#[must_use]
pub fn rcme(lineages: &Lineages, contrast: impl Into<Contrast>, weights: RcmeWeights) -> LossTerms {
    let [b, n, d] = lineages.texts.dims();
    assert!(n >= 3, "a lineage has at least three ranks");
    let part = |from: usize, count: usize| lineages.texts.clone().narrow(1, from, count);
    let root = lineages.root.clone().unsqueeze::<3>();
    // Starting point of the first leg of each apex, [b, n - 1, d].
    let start = match weights.root_mode {
        RootMode::Root => root.expand([b, n - 1, d]),
        RootMode::Parent => Tensor::cat(vec![root.expand([b, 1, d]), part(0, n - 2)], 1),
    };
    let apex = part(0, n - 1);
    let next = radial::exterior_angle(apex.clone(), part(1, n - 1), start.clone());
    let away = radial::exterior_angle(apex.clone(), lineages.negatives.clone(), start.clone());
    let local = next.mean() - away.mean();

    let cosine = radial::exterior_cosine(apex.clone(), part(1, n - 1), start.clone());
    let similarity = clamp_max(clamp_min(cosine, 0.0), 1.0);
    let skipping = radial::exterior_angle(
        apex.narrow(1, 0, n - 2),
        part(2, n - 2),
        start.narrow(1, 0, n - 2),
    );
    let both = similarity.clone().narrow(1, 0, n - 2) * similarity.narrow(1, 1, n - 2);
    let global = clamp_min(skipping - acos_clipped(both) + weights.margin, 0.0).mean();

    let mut total = global.clone() * weights.global + local.clone() * weights.local;
    let mut named = vec![("entail_global", global), ("entail_local", local)];
    if let Some(images) = &lineages.images {
        let last = lineages.texts.clone().narrow(1, n - 1, 1).reshape([b, d]);
        let align = clip(images.clone(), last, contrast).total;
        total = total + align.clone() * weights.beta;
        named.push(("contrastive", align));
    }
    if let Some(frozen) = &lineages.frozen {
        let all = Tensor::cat(vec![lineages.texts.clone(), lineages.negatives.clone()], 1);
        let prior = dot(all.reshape([b * (2 * n - 1), d]), frozen.clone()).mean();
        let prior = prior.neg() + 1.0;
        total = total + prior.clone() * weights.prior;
        named.push(("pull_back", prior));
    }
    LossTerms::new(total, named)
}
