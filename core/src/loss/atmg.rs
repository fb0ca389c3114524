//! ATMG: a contrastive loss on angles, with a separate radius for each modality (notation 2.8).

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::contrastive::Contrast;
use super::terms::LossTerms;
use crate::geometry::{cone, lorentz};

/// Target distance of the centroid of the images to the root.
pub const IMAGE_RADIUS: f64 = 2.0;
/// Target distance of the centroid of the texts to the root.
pub const TEXT_RADIUS: f64 = 0.5;

/// Direction in which the angle at an image is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageApex {
    /// Large: the text of an image lies toward the root (the paper's reading).
    Maximised,
    /// Small, like the angle at a text (RCME's baseline of this name).
    Minimised,
}

/// `L_angle + weight * (|d(centroid) - target| of both modalities)`.
///
/// The published weight is not known; 0 does not constrain the centroids.
///
/// # Shapes
/// `images, texts [b, d]`, `c [1, 1]`
#[must_use]
pub fn atmg(
    images: Tensor<2>,
    texts: Tensor<2>,
    c: Tensor<2>,
    contrast: impl Into<Contrast>,
    apex: ImageApex,
    weight: f64,
) -> LossTerms {
    let contrast = contrast.into();
    let ce = |queries, keys, sign: f64| {
        contrast.cross_entropy([queries, keys], [&c], |at, toward, [c]| {
            cone::pairwise_exterior_angle(at, toward, c) * sign
        })
    };
    let sign = match apex {
        ImageApex::Maximised => 1.0,
        ImageApex::Minimised => -1.0,
    };
    let (text, image) = (ce(&texts, &images, -1.0), ce(&images, &texts, sign));
    let contrastive = (text + image) * 0.5;
    let off = |points: Tensor<2>, target: f64| {
        let centroid = lorentz::einstein_midpoint(points, c.clone());
        (lorentz::dist0(centroid, c.clone()) - target).abs().mean()
    };
    let (image_centroid, text_centroid) = (off(images, IMAGE_RADIUS), off(texts, TEXT_RADIUS));
    let total = contrastive.clone() + (image_centroid.clone() + text_centroid.clone()) * weight;
    LossTerms::new(
        total,
        vec![
            ("contrastive", contrastive),
            ("centroid_image", image_centroid),
            ("centroid_text", text_centroid),
        ],
    )
}
