//! CLIP: images and captions on the unit sphere.

use burn::tensor::Tensor;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

use super::context::chance_level_of_pairs;
use super::definition::{Method, StepContext};
use crate::config::ClipOptions;

pub(super) struct Clip(pub(super) ClipOptions);

impl Method for Clip {
    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let (images, texts) = step.pairs();
        let terms = loss::clip(images.clone(), texts, step.contrast());
        let cosine = |x: Tensor<2>, y: Tensor<2>| x.matmul(y.transpose());
        let terms = step.with_labels(terms, images, cosine);
        Ok(step.with_nouns(terms, cosine, None))
    }

    fn chance_level(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        Some(chance_level_of_pairs(self.0.boxes_as_pairs, batch_size))
    }
}
