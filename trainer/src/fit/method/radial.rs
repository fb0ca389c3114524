//! RE and EC: a pre-trained text encoder learns to order chains of captions.

use anyhow::bail;
use espalier_core::loss::{self, Chains, LossTerms, PairTerm, RadialWeights};
use espalier_core::model::LiftKind;

use super::context::ChainPoints;
use super::definition::{Method, StepContext};
use crate::config::{EcOptions, ReOptions, RootKind};

pub(super) struct Radial {
    root: RootKind,
    root_text: String,
    weights: RadialWeights,
}

impl Radial {
    /// RE, which compares pairs by angles at the root.
    pub(super) fn with_angles(options: &ReOptions) -> Self {
        Self {
            root: options.root,
            root_text: options.root_text.clone(),
            weights: RadialWeights {
                term: PairTerm::Angle,
                mined: options.mined,
                pull_back: options.pull_back,
                negatives: options.negatives,
            },
        }
    }

    /// EC, which compares pairs by entailment cones.
    pub(super) fn with_cones(options: &EcOptions) -> Self {
        Self {
            root: options.root,
            root_text: options.root_text.clone(),
            weights: RadialWeights {
                term: PairTerm::Cone {
                    margin: options.margin,
                    side: options.margin_side,
                },
                mined: options.mined,
                pull_back: options.pull_back,
                negatives: options.negatives,
            },
        }
    }
}

impl Method for Radial {
    fn root_text(&self) -> Option<&str> {
        Some(&self.root_text)
    }

    fn needs_frozen_text(&self) -> bool {
        self.weights.pull_back > 0.0 || self.root == RootKind::Frozen
    }

    fn lift(&self, _d_embed: usize) -> LiftKind {
        LiftKind::Sphere
    }

    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms> {
        let chains = step.chains()?;
        let texts = step.chain_points(chains);
        let frozen = step.frozen_chain_points(chains);
        let root = match (self.root, &frozen) {
            (RootKind::Text, _) => texts.root,
            (RootKind::Zero, _) => texts.root.zeros_like(),
            (RootKind::Frozen, Some(frozen)) => frozen.root.clone(),
            (RootKind::Frozen, None) => bail!("expected the frozen text encoder, found none"),
        };
        let points = Chains {
            positives: texts.positives,
            negatives: texts.negatives,
            root,
            frozen: frozen
                .filter(|_| self.weights.pull_back > 0.0)
                .map(ChainPoints::rows),
        };
        Ok(loss::radial(&points, self.weights))
    }

    fn pairs_per_sample(&self) -> Option<usize> {
        None
    }
}
