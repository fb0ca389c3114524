//! MERU: images in the entailment cones of their captions.

use espalier_core::geometry::lorentz;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::context::chance_level_of_pairs;
use super::definition::{Method, StepContext};
use crate::config::MeruOptions;

pub(super) struct Meru(pub(super) MeruOptions);

impl Method for Meru {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let (images, texts) = step.pairs();
        let weight = self.0.entail * step.entail_ramp;
        let c = step.curvature()?;
        let form = self.0.angles.formula();
        let terms = loss::meru(
            images.clone(),
            texts.clone(),
            c.clone(),
            step.contrast(),
            weight,
            form,
        );
        let similarity = |x, y| lorentz::pairwise_dist(x, y, c.clone()).neg();
        let radius = |x| lorentz::dist0(x, c.clone());
        let terms = step.with_labels(terms, images, similarity);
        let terms = step.with_nouns(terms, similarity, Some(&radius));
        Ok(step.with_radii(terms, texts, radius))
    }

    fn chance_level(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        Some(chance_level_of_pairs(self.0.boxes_as_pairs, batch_size))
    }
}
