//! RCME: both encoders learn the order of lineages, and images stay near their last rank.

use burn::tensor::Tensor;
use espalier_core::loss::{self, Lineages, LossTerms, RcmeWeights};
use espalier_core::math::normalize;
use espalier_core::model::LiftKind;
use espalier_data::records::lineage::NegativeKind;

use super::definition::{Method, StepContext};
use crate::config::RcmeOptions;

pub(super) struct Rcme(pub(super) RcmeOptions);

impl Method for Rcme {
    fn negatives(&self) -> NegativeKind {
        NegativeKind::BelowSibling
    }

    fn root_text(&self) -> Option<&str> {
        Some(&self.0.root_text)
    }

    fn needs_frozen_text(&self) -> bool {
        self.0.prior > 0.0
    }

    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let o = &self.0;
        let chains = step.chains()?;
        let texts = step.chain_points(chains);
        let [b, n, d] = texts.positives.dims();
        // The contradiction of the first rank is not used: no rank lies above it.
        let below = |negatives: Tensor<3>| negatives.narrow(1, 1, n - 1);
        let frozen = step.frozen_chain_points(chains).map(|frozen| {
            let all = vec![frozen.positives, below(frozen.negatives)];
            Tensor::cat(all, 1).reshape([b * (2 * n - 1), d])
        });
        let images = chains
            .has_images
            .then(|| normalize(step.features(vec![step.inputs.images.clone()])));
        let lineages = Lineages {
            texts: texts.positives,
            negatives: below(texts.negatives),
            root: texts.root,
            images: images.clone(),
            frozen,
        };
        let weights = RcmeWeights {
            root_mode: o.root_mode,
            margin: o.margin,
            global: o.global,
            local: o.local,
            beta: o.beta,
            prior: o.prior,
        };
        // The contrast uses the scale of the start weights, which is not trained.
        let scale = step.model.logit_scale.value().detach();
        let contrast = step.contrast_with(scale.clone());
        let terms = loss::rcme(&lineages, contrast, weights);
        let Some(images) = images else {
            return Ok(terms);
        };
        let cosine = |x: Tensor<2>, y: Tensor<2>| x.matmul(y.transpose());
        Ok(step.with_distillation(terms, images, scale, cosine))
    }

    fn pairs_per_sample(&self) -> Option<usize> {
        None
    }
}
