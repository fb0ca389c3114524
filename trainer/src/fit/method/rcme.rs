//! RCME: both towers learn the order of lineages, and pictures stay with their last rank.

use espalier_core::loss::{self, Lineages, LossTerms, RcmeWeights};
use espalier_core::math::normalize;
use espalier_core::model::LiftKind;

use super::{Method, StepContext};
use crate::config::LossConfig;
use crate::data::Needs;
use crate::data::lineage::NegativeKind;

pub(super) struct Rcme {
    pub(super) options: LossConfig,
}

impl Method for Rcme {
    fn needs(&self) -> Needs {
        Needs::Chains
    }

    fn negatives(&self) -> NegativeKind {
        NegativeKind::BelowSibling
    }

    fn root_text(&self) -> Option<&str> {
        Some(self.options.root_text.as_deref().unwrap_or("Eukarya"))
    }

    fn pulls_back(&self) -> bool {
        self.options.prior > 0.0
    }

    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> LossTerms {
        let o = &self.options;
        let chains = step.chains();
        let texts = step.unit_texts(&chains.positives, chains.tiers);
        let negatives = step.unit_texts(&chains.negatives, chains.tiers);
        let images = chains
            .has_images
            .then(|| normalize(step.features(step.inputs.images.clone())));
        let [b, n, d] = texts.dims();
        let frozen = (o.prior > 0.0)
            .then(|| {
                let frozen = |tokens| {
                    let unit = step.frozen_texts(&[tokens])?;
                    Some(unit.reshape([b, n, d]))
                };
                let negatives = frozen(&chains.negatives)?.narrow(1, 1, n - 1);
                let all = burn::tensor::Tensor::cat(vec![frozen(&chains.positives)?, negatives], 1);
                Some(all.reshape([b * (2 * n - 1), d]))
            })
            .flatten();
        let lineages = Lineages {
            texts,
            negatives: negatives.narrow(1, 1, n - 1),
            root: step.root(),
            images,
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
        // The scale of the contrast is that of the start weights.
        let scale = step.model.logit_scale.value().detach();
        loss::rcme(&lineages, scale, weights)
    }

    fn chance(&self, _batch_size: usize) -> Option<(&'static str, f64)> {
        None
    }
}
