//! CLIP: pictures and captions on the unit sphere.

use espalier_core::loss::{self, LossTerms};
use espalier_core::model::{DualEncoder, LiftKind};

use super::{Method, StepInputs};

pub(super) struct Clip;

impl Method for Clip {
    fn needs_boxes(&self) -> bool {
        false
    }

    fn lift(&self) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, model: &DualEncoder, inputs: &StepInputs) -> LossTerms {
        let features = model
            .image
            .forward_tokens(inputs.images.clone(), inputs.keep.clone());
        let images = model.lift.image(features);
        let texts = model.embed_text(&inputs.captions);
        loss::clip(images, texts, model.logit_scale.value())
    }
}
