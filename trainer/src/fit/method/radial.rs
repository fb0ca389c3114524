//! RE and EC: a pre-trained text encoder learns to order chains of captions.

use espalier_core::loss::{self, Chains, LossTerms, PairTerm, RadialWeights};
use espalier_core::model::LiftKind;

use super::context::ChainPoints;
use super::definition::{Method, StepContext};
use crate::config::{LossConfig, RootKind};

pub(super) struct Radial {
    pub(super) options: LossConfig,
    /// Whether pairs are compared with entailment cones (EC).
    pub(super) cones: bool,
}

impl Method for Radial {
    fn root_text(&self) -> Option<&str> {
        Some(self.options.root_text.as_deref().unwrap_or(""))
    }

    fn needs_frozen_text(&self) -> bool {
        self.options.pull_back > 0.0 || self.options.root == RootKind::Frozen
    }

    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> LossTerms {
        let o = &self.options;
        let texts = step.chain_points();
        let frozen = step.frozen_chain_points();
        let root = match (o.root, &frozen) {
            (RootKind::Text, _) => texts.root,
            (RootKind::Zero, _) => texts.root.zeros_like(),
            (RootKind::Frozen, Some(frozen)) => frozen.root.clone(),
            (RootKind::Frozen, None) => unreachable!("a frozen root needs the frozen text encoder"),
        };
        let points = Chains {
            positives: texts.positives,
            negatives: texts.negatives,
            root,
            frozen: frozen.filter(|_| o.pull_back > 0.0).map(ChainPoints::rows),
        };
        let term = if self.cones {
            PairTerm::Cone {
                margin: o.margin,
                side: o.margin_side,
            }
        } else {
            PairTerm::Angle
        };
        let weights = RadialWeights {
            term,
            mined: o.mined,
            pull_back: o.pull_back,
            negatives: o.negatives,
        };
        loss::radial(&points, weights)
    }

    fn chance_level(&self, _batch_size: usize) -> Option<(&'static str, f64)> {
        None
    }
}
