//! MERU: images in the entailment cones of their captions.

use espalier_core::geometry::lorentz;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::definition::{Method, StepContext};
use crate::config::MeruOptions;

pub(super) struct Meru(pub(super) MeruOptions);

impl Method for Meru {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let (images, texts) = step.pairs();
        let (weight, form) = (self.0.entail * step.entail_ramp, self.0.angles.formula());
        let (c, contrast) = (step.curvature()?, step.contrast());
        let (x, y) = (images.clone(), texts.clone());
        let terms = loss::meru(x, y, c.clone(), contrast, weight, form);
        let similarity = |x, y| lorentz::pairwise_dist(x, y, c.clone()).neg();
        let radius = |x| lorentz::dist0(x, c.clone());
        let terms = step.with_labels(terms, images, similarity);
        let terms = step.with_nouns(terms, similarity, Some(&radius));
        Ok(step.with_radii(terms, texts, radius))
    }

    fn pairs_per_sample(&self) -> Option<usize> {
        Some(if self.0.boxes_as_pairs { 2 } else { 1 })
    }
}
