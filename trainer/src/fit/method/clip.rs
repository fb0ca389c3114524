//! CLIP: pictures and captions on the unit sphere.

use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::{Method, StepContext};
use crate::config::LossConfig;
use crate::data::Needs;

pub(super) struct Clip {
    pub(super) options: LossConfig,
}

impl Method for Clip {
    fn needs(&self) -> Needs {
        if self.options.boxes_as_pairs {
            Needs::Boxes
        } else {
            Needs::Captions
        }
    }

    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> LossTerms {
        let (images, texts) = step.pairs();
        loss::clip(images, texts, step.model.logit_scale.value())
    }

    fn chance(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        let pairs = if self.options.boxes_as_pairs { 2 } else { 1 };
        Some(("contrastive", ((pairs * batch_size) as f64).ln()))
    }
}
