//! ATMG: a contrastive loss on angles, with a separate radius for each modality (notation 2.8).

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::contrastive::cross_entropy_diagonal;
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
/// `images, texts [b, d]`, `c [1, 1]`, `scale [1]`
#[must_use]
pub fn atmg(
    images: Tensor<2>,
    texts: Tensor<2>,
    c: Tensor<2>,
    scale: Tensor<1>,
    apex: ImageApex,
    weight: f64,
) -> LossTerms {
    let angles = |at: &Tensor<2>, toward: &Tensor<2>| {
        cone::pairwise_exterior_angle(at.clone(), toward.clone(), c.clone())
    };
    let s = scale.unsqueeze::<2>();
    let sign = match apex {
        ImageApex::Maximised => 1.0,
        ImageApex::Minimised => -1.0,
    };
    let text = cross_entropy_diagonal(angles(&texts, &images).neg() * s.clone());
    let image = cross_entropy_diagonal(angles(&images, &texts) * sign * s);
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
