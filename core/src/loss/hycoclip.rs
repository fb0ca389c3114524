//! HyCoCLIP: contrastive and entailment losses between images and their parts (notation 2.3).
//!
//! A crop is more general than its image, a phrase more general than its caption, and a text more
//! general than the image or crop it describes. Boxes are queries but never keys: boxes of
//! different images often show the same concept and would be false negatives.

use burn::tensor::Tensor;

use super::contrastive::Contrast;
use super::terms::LossTerms;
use crate::geometry::{AngleFormula, EPS, cone, lorentz};

/// Cone width factor between modalities, text to image.
pub const ETA_INTER: f64 = 0.7;
/// Cone width factor within a modality, box to whole.
pub const ETA_INTRA: f64 = 1.2;
/// Weight of the entailment term; with the factor 0.5 on its sum this is the paper's gamma = 0.1.
pub const ENTAIL_WEIGHT: f64 = 0.2;

/// Points of a batch; equal rows belong to the same sample. Each is `[b, d]`, or `[k, b, d]` in a
/// product of `k` factors.
#[derive(Clone, Debug)]
pub struct HycoclipPoints<const D: usize> {
    /// Images `I`.
    pub image: Tensor<D>,
    /// Captions `T`.
    pub text: Tensor<D>,
    /// Box crops `I^b`.
    pub box_image: Tensor<D>,
    /// Phrases `T^b`.
    pub box_text: Tensor<D>,
}

/// Weights of the terms of the loss; [`Default`] is as published.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HycoclipWeights {
    /// Cone width factor between modalities.
    pub eta_inter: f64,
    /// Cone width factor within a modality.
    pub eta_intra: f64,
    /// Weight of the entailment term.
    pub entail: f64,
    /// Formula of the angles.
    pub form: AngleFormula,
}

impl Default for HycoclipWeights {
    fn default() -> Self {
        Self {
            eta_inter: ETA_INTER,
            eta_intra: ETA_INTRA,
            entail: ENTAIL_WEIGHT,
            form: AngleFormula::Stable,
        }
    }
}

/// Computes `contrastive + weight * 0.5 * (four entailments)` in one Lorentz space.
///
/// # Shapes
/// points `[b, d]`, `c [1, 1]`
#[must_use]
pub fn hycoclip(
    points: &HycoclipPoints<2>,
    c: Tensor<2>,
    contrast: impl Into<Contrast>,
    weights: HycoclipWeights,
) -> LossTerms {
    compose(
        points,
        lorentz::pairwise_dist,
        c,
        &contrast.into(),
        (weights, EPS),
    )
}

/// Computes the loss with any distance and `eps` of the apertures; shared by HyCoCLIP and its version
/// in a product space.
pub(super) fn compose<const D: usize>(
    points: &HycoclipPoints<D>,
    dist: impl Fn(Tensor<D>, Tensor<D>, Tensor<D>) -> Tensor<2>,
    c: Tensor<D>,
    contrast: &Contrast,
    (weights, eps): (HycoclipWeights, f64),
) -> LossTerms {
    let HycoclipPoints {
        image,
        text,
        box_image,
        box_text,
    } = points;
    let ce = |queries, keys| {
        contrast.cross_entropy([queries, keys], [&c], |x, y, [c]| dist(x, y, c).neg())
    };
    let contrastive =
        (ce(image, text) + ce(text, image) + ce(box_image, text) + ce(box_text, image)) * 0.25;

    // The mean is over the batch and, in a product, over the factors.
    let gap = |general: &Tensor<D>, specific: &Tensor<D>, eta: f64| {
        cone::entailment_gap_eps(
            general.clone(),
            specific.clone(),
            c.clone(),
            eta,
            (weights.form, eps),
        )
        .mean()
    };
    let text_image = gap(text, image, weights.eta_inter);
    let box_text_image = gap(box_text, box_image, weights.eta_inter);
    let image_part = gap(box_image, image, weights.eta_intra);
    let text_part = gap(box_text, text, weights.eta_intra);
    let entail =
        (text_image.clone() + box_text_image.clone() + image_part.clone() + text_part.clone())
            * 0.5;

    let total = contrastive.clone() + entail.clone() * weights.entail;
    LossTerms::new(
        total,
        vec![
            ("contrastive", contrastive),
            ("entail", entail),
            ("entail_text_image", text_image),
            ("entail_box_text_image", box_text_image),
            ("entail_box_image_image", image_part),
            ("entail_box_text_text", text_part),
        ],
    )
}
