//! CLIP: images and captions on the unit sphere.

use burn::tensor::Tensor;
use espalier_core::loss::{self, LossTerms};
use espalier_core::model::LiftKind;

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

    fn pairs_per_sample(&self) -> Option<usize> {
        Some(if self.0.boxes_as_pairs { 2 } else { 1 })
    }
}
