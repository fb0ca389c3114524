//! ATMG: a contrast by angles, with a separate radius for each modality.

use espalier_core::geometry::cone;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::definition::{Method, StepContext};
use crate::config::AtmgOptions;

pub(super) struct Atmg(pub(super) AtmgOptions);

impl Method for Atmg {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let (images, texts) = step.pairs();
        let (apex, weight) = (self.0.image_apex, self.0.centroid);
        let (c, contrast) = (step.curvature()?, step.contrast());
        let scale = contrast.scale();
        let terms = loss::atmg(images.clone(), texts, c.clone(), contrast, apex, weight);
        // As in zero-shot classification: the similarity is the angle at the text.
        let similarity = |x, y| {
            let angles = cone::pairwise_exterior_angle(y, x, c.clone());
            angles.transpose().neg()
        };
        Ok(step.with_distillation(terms, images, scale, similarity))
    }
}
