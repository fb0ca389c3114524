//! HyCoCLIP: images, captions, boxes and phrases in the Lorentz model.

use burn::tensor::Tensor;
use espalier_core::geometry::lorentz;
use espalier_core::loss::{self, HycoclipWeights, LossTerms};
use espalier_core::model::LiftKind;

use super::definition::{Method, StepContext};
use crate::config::HycoclipOptions;

pub(super) struct Hycoclip(pub(super) HycoclipOptions);

impl Method for Hycoclip {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let weights = HycoclipWeights {
            eta_inter: self.0.eta_inter,
            eta_intra: self.0.eta_intra,
            entail: self.0.entail * step.entail_ramp,
            form: self.0.angles.formula(),
        };
        let (points, c) = (step.hycoclip_points()?, step.curvature()?);
        let terms = loss::hycoclip(&points, c.clone(), step.contrast(), weights);
        let captions = points.text.clone();
        let image_points = Tensor::cat(vec![points.image, points.box_image], 0);
        let similarity = |x, y| lorentz::pairwise_dist(x, y, c.clone()).neg();
        let radius = |x| lorentz::dist0(x, c.clone());
        let terms = step.with_labels(terms, image_points, similarity);
        let terms = step.with_nouns(terms, similarity, Some(&radius));
        Ok(step.with_radii(terms, captions, radius))
    }
}
