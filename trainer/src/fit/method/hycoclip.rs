//! HyCoCLIP: images, captions, boxes and phrases in the Lorentz model.

use burn::tensor::Tensor;
use espalier_core::geometry::lorentz;
use espalier_core::loss::{self, HycoclipWeights, LossTerms};
use espalier_core::model::LiftKind;

use super::definition::{Method, StepContext};
use crate::config::LossConfig;

pub(super) struct Hycoclip {
    pub(super) options: LossConfig,
}

/// Returns the weights of HyCoCLIP and PHyCLIP at a step.
pub(super) fn weights(options: &LossConfig, ramp: f64) -> HycoclipWeights {
    HycoclipWeights {
        eta_inter: options.eta_inter,
        eta_intra: options.eta_intra,
        entail: options.entail * ramp,
        form: options.angles.formula(),
    }
}

impl Method for Hycoclip {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, step: &StepContext<'_>) -> LossTerms {
        let weights = weights(&self.options, step.entail_ramp);
        let (points, c) = (step.hycoclip_points(), step.curvature());
        let terms = loss::hycoclip(&points, c.clone(), step.contrast(), weights);
        let captions = points.text.clone();
        let image_points = Tensor::cat(vec![points.image, points.box_image], 0);
        let similarity = |x, y| lorentz::pairwise_dist(x, y, c.clone()).neg();
        let radius = |x| lorentz::dist0(x, c.clone());
        let terms = step.with_labels(terms, &self.options, image_points, similarity);
        let terms = step.with_nouns(terms, &self.options, similarity, Some(&radius));
        step.with_radii(terms, &self.options, captions, radius)
    }
}
