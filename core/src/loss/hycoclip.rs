//! HyCoCLIP: contrast and entailment between wholes and their parts (METHODS 2.3).
//!
//! A crop is more general than its picture, a phrase more general than its caption, and a text
//! more general than what it describes. Boxes are queries but never keys: boxes of different
//! pictures often show the same concept and would be false negatives.

use burn::tensor::Tensor;

use super::contrastive::cross_entropy_diagonal;
use super::terms::LossTerms;
use crate::geometry::{cone, lorentz};

/// Cone width factor between modalities, text to picture.
pub const ETA_INTER: f64 = 0.7;
/// Cone width factor within a modality, box to whole.
pub const ETA_INTRA: f64 = 1.2;
/// Weight of the entailment part; with the factor 0.5 on its sum this is the paper's gamma = 0.1.
pub const ENTAIL_WEIGHT: f64 = 0.2;

/// Points of a batch, each `[b, d]`, rows of the same sample.
#[derive(Clone, Debug)]
pub struct HycoclipPoints {
    /// Pictures `I`.
    pub image: Tensor<2>,
    /// Captions `T`.
    pub text: Tensor<2>,
    /// Box crops `I^b`.
    pub box_image: Tensor<2>,
    /// Phrases `T^b`.
    pub box_text: Tensor<2>,
}

/// `contrastive + weight * 0.5 * (four entailments)`; the published `weight` is
/// [`ENTAIL_WEIGHT`].
///
/// # Shapes
/// points `[b, d]`, `c [1, 1]`, `scale [1]`
#[must_use]
pub fn hycoclip(points: HycoclipPoints, c: Tensor<2>, scale: Tensor<1>, weight: f64) -> LossTerms {
    let HycoclipPoints {
        image,
        text,
        box_image,
        box_text,
    } = points;
    let ce = |query: &Tensor<2>, keys: &Tensor<2>| {
        let d = lorentz::pairwise_dist(query.clone(), keys.clone(), c.clone());
        cross_entropy_diagonal(d.neg() * scale.clone().unsqueeze())
    };
    let contrastive =
        (ce(&image, &text) + ce(&text, &image) + ce(&box_image, &text) + ce(&box_text, &image))
            * 0.25;

    let gap = |general: &Tensor<2>, specific: &Tensor<2>, eta: f64| {
        cone::entailment_gap(general.clone(), specific.clone(), c.clone(), eta).mean()
    };
    let text_image = gap(&text, &image, ETA_INTER);
    let box_text_image = gap(&box_text, &box_image, ETA_INTER);
    let image_part = gap(&box_image, &image, ETA_INTRA);
    let text_part = gap(&box_text, &text, ETA_INTRA);
    let entail =
        (text_image.clone() + box_text_image.clone() + image_part.clone() + text_part.clone())
            * 0.5;

    let total = contrastive.clone() + entail.clone() * weight;
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
