//! What a training method is.

use espalier_core::loss::LossTerms;
use espalier_core::model::{DualEncoder, LiftKind, TextEncoder};

use crate::data::records::lineage::NegativeKind;
use crate::fit::inputs::StepInputs;
use crate::fit::towers::Towers;

/// What a loss is computed from.
pub struct StepContext<'a> {
    /// The model in training; its towers are used through [`towers`](Self::towers).
    pub model: &'a DualEncoder,
    /// Its towers.
    pub towers: &'a Towers<'a>,
    /// The text tower as it was before training, without gradient, if the method
    /// [pulls back](Method::pulls_back) to it.
    pub frozen: Option<&'a TextEncoder>,
    /// The batch.
    pub inputs: &'a StepInputs,
    /// Share of the entailment's weight that counts at this step, in `[0, 1]`.
    pub entail_ramp: f64,
}

/// A training method.
pub trait Method: Send + Sync {
    /// What the negatives of chains contradict.
    fn negatives(&self) -> NegativeKind {
        NegativeKind::SameTier
    }

    /// Text of the root, embedded anew at each step, for methods that have one.
    fn root_text(&self) -> Option<&str> {
        None
    }

    /// Whether it needs the text tower as it was before training.
    fn pulls_back(&self) -> bool {
        false
    }

    /// Space of embeddings of width `d_embed`.
    fn lift(&self, d_embed: usize) -> LiftKind;

    /// Its loss on one batch, which has what [`MethodName::needs`](crate::config::MethodName::needs) says.
    fn loss(&self, step: &StepContext<'_>) -> LossTerms;

    /// Name of the term that a model without knowledge has at chance, with that value; none where
    /// there is no such value.
    fn chance(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        Some(("contrastive", (batch_size as f64).ln()))
    }
}
