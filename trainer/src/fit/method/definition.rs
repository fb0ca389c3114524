//! The interface of a training method.

use std::num::NonZeroUsize;

use espalier_core::loss::LossTerms;
use espalier_core::model::{DualEncoder, LiftKind, TextEncoder};
use espalier_data::records::lineage::NegativeKind;

use crate::config::LossConfig;
use crate::fit::inputs::StepInputs;
use crate::fit::step_encoders::StepEncoders;

/// Inputs of a loss.
pub struct StepContext<'a> {
    /// The model in training; its encoders are used through [`encoders`](Self::encoders).
    pub model: &'a DualEncoder,
    /// Encoders of the model.
    pub encoders: &'a StepEncoders<'a>,
    /// Frozen copy of the text encoder from before training, without gradient, if the method
    /// [regularises toward it](Method::needs_frozen_text).
    pub frozen: Option<&'a TextEncoder>,
    /// The batch.
    pub inputs: &'a StepInputs,
    /// Weights of the terms that methods share.
    pub loss_config: &'a LossConfig,
    /// Number of queries that a contrastive term compares at once.
    pub contrast_rows: NonZeroUsize,
    /// Factor on the weight of the entailment term at this step, in `[0, 1]`.
    pub entail_ramp: f64,
}

/// A training method.
pub trait Method: Send + Sync {
    /// Returns what the negatives of chains contradict.
    fn negatives(&self) -> NegativeKind {
        NegativeKind::SameTier
    }

    /// Text of the root, embedded again at each step, for methods that have a root.
    fn root_text(&self) -> Option<&str> {
        None
    }

    /// Returns whether the method regularises toward the frozen text encoder from before training.
    fn needs_frozen_text(&self) -> bool {
        false
    }

    /// Returns the space of embeddings of width `d_embed`.
    fn lift(&self, d_embed: usize) -> LiftKind;

    /// Returns the loss on one batch.
    ///
    /// # Errors
    /// If the batch has not what [`MethodName::needs`](crate::config::MethodName::needs) lists, or
    /// the model not the space of [`lift`](Self::lift).
    fn loss(&self, step: &StepContext<'_>) -> anyhow::Result<LossTerms>;

    /// Returns the number of pairs that the contrastive term has of each sample; `None` where its value
    /// for an untrained model is not known.
    fn pairs_per_sample(&self) -> Option<usize> {
        Some(1)
    }

    /// Returns the name of a term and its value for an untrained model (chance level); `None` where
    /// there is no such value.
    fn chance_level(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        let pairs = self.pairs_per_sample()? * batch_size;
        Some(("contrastive", (pairs as f64).ln()))
    }
}
