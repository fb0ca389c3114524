//! HyCoCLIP: pictures, captions, boxes and phrases in the Lorentz model.

use burn::tensor::Tensor;
use espalier_core::loss::{self, HycoclipPoints, LossTerms};
use espalier_core::model::{DualEncoder, LiftKind};

use super::{Method, StepInputs};

pub(super) struct Hycoclip;

impl Method for Hycoclip {
    fn needs_boxes(&self) -> bool {
        true
    }

    fn lift(&self) -> LiftKind {
        LiftKind::Lorentz
    }

    fn loss(&self, model: &DualEncoder, inputs: &StepInputs) -> LossTerms {
        let (box_images, phrases) = match (&inputs.box_images, &inputs.phrases) {
            (Some(images), Some(phrases)) => (images.clone(), phrases),
            _ => unreachable!("batches of a method that needs boxes have them"),
        };
        // Pictures and crops share a pass: one large matrix product beats two small ones.
        let [batch, ..] = inputs.images.dims();
        let both = Tensor::cat(vec![inputs.images.clone(), box_images], 0);
        let features = model.image.forward_tokens(both, inputs.keep.clone());
        let points = model.lift.image(features);
        let points = HycoclipPoints {
            image: points.clone().narrow(0, 0, batch),
            box_image: points.narrow(0, batch, batch),
            text: model.embed_text(&inputs.captions),
            box_text: model.embed_text(phrases),
        };
        let Some(c) = model.lift.curvature() else {
            unreachable!("the model of this method is built with a Lorentz lift")
        };
        let weight = loss::ENTAIL_WEIGHT * inputs.entail_ramp;
        loss::hycoclip(points, c, model.logit_scale.value(), weight)
    }
}
