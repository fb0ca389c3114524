//! What a method needs of a batch, which space it lives in, and its loss.
//!
//! A further method is one file here and one line in [`MethodName::build`].

mod clip;
mod hycoclip;

use clap::ValueEnum;
use espalier_core::loss::LossTerms;
use espalier_core::model::{DualEncoder, LiftKind};
use serde::{Deserialize, Serialize};

use super::inputs::StepInputs;

/// A method as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodName {
    /// Contrast of cosines (METHODS 2.1).
    Clip,
    /// Contrast and entailment of wholes and parts in the Lorentz model (METHODS 2.3).
    Hycoclip,
}

/// A training method.
pub trait Method: Send + Sync {
    /// Whether a sample must have a box.
    fn needs_boxes(&self) -> bool;

    /// Space that its embeddings live in.
    fn lift(&self) -> LiftKind;

    /// Its loss on one batch; boxes are there if [`needs_boxes`](Self::needs_boxes).
    fn loss(&self, model: &DualEncoder, inputs: &StepInputs) -> LossTerms;

    /// Name of the term that a model without knowledge has at `chance`, with that value.
    fn chance(&self, batch_size: usize) -> (&'static str, f64) {
        ("contrastive", (batch_size as f64).ln())
    }
}

impl MethodName {
    /// The method of this name.
    #[must_use]
    pub fn build(self) -> Box<dyn Method> {
        match self {
            Self::Clip => Box::new(clip::Clip),
            Self::Hycoclip => Box::new(hycoclip::Hycoclip),
        }
    }

    /// Name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clip => "clip",
            Self::Hycoclip => "hycoclip",
        }
    }
}
