//! What a method needs of a batch, what it trains, which space it lives in, and its loss.
//!
//! A further method is one file here, one name in [`MethodName`] and one line in
//! [`MethodName::build`].

mod atmg;
mod clip;
mod context;
mod hycoclip;
mod meru;
mod parts;
mod phyclip;
mod radial;
mod rcme;

use clap::ValueEnum;
use espalier_core::loss::LossTerms;
use espalier_core::model::{DualEncoder, LiftKind, TextEncoder};
use serde::{Deserialize, Serialize};

use super::inputs::StepInputs;
use super::towers::Towers;
use crate::config::LossConfig;
use crate::data::Needs;
use crate::data::lineage::NegativeKind;

/// A method as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodName {
    /// Contrast of cosines (METHODS 2.1).
    Clip,
    /// Contrast and entailment of pictures and captions in the Lorentz model (METHODS 2.2).
    Meru,
    /// Contrast and entailment of wholes and parts in the Lorentz model (METHODS 2.3).
    Hycoclip,
    /// The same in a product of Lorentz factors (METHODS 2.4).
    Phyclip,
    /// Chains of captions ordered by angles from a root (METHODS 2.5).
    Re,
    /// The same with entailment cones (METHODS 2.6).
    Ec,
    /// Global and local order of lineages, with pictures (METHODS 2.7).
    Rcme,
    /// Contrast by angles (METHODS 2.8).
    Atmg,
    /// Pictures and their parts, without texts (METHODS 2.9).
    Parts,
}

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trains {
    /// The image encoder, without its projection.
    pub image: bool,
    /// The projection of the image encoder.
    pub projection: bool,
    /// The text tower.
    pub text: bool,
    /// The scale of the contrast.
    pub scale: bool,
}

impl Trains {
    /// All of it.
    pub const ALL: Self = Self {
        image: true,
        projection: true,
        text: true,
        scale: true,
    };
}

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
    /// What a sample must have.
    fn needs(&self) -> Needs;

    /// What the negatives of chains contradict.
    fn negatives(&self) -> NegativeKind {
        NegativeKind::SameTier
    }

    /// What it trains.
    fn trains(&self) -> Trains {
        Trains::ALL
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

    /// Its loss on one batch, which has what [`needs`](Self::needs) says.
    fn loss(&self, step: &StepContext<'_>) -> LossTerms;

    /// Name of the term that a model without knowledge has at chance, with that value; none where
    /// there is no such value.
    fn chance(&self, batch_size: usize) -> Option<(&'static str, f64)> {
        Some(("contrastive", (batch_size as f64).ln()))
    }
}

impl MethodName {
    /// The method of this name with its options.
    #[must_use]
    pub fn build(self, options: &LossConfig) -> Box<dyn Method> {
        let options = options.clone();
        match self {
            Self::Clip => Box::new(clip::Clip { options }),
            Self::Meru => Box::new(meru::Meru { options }),
            Self::Hycoclip => Box::new(hycoclip::Hycoclip { options }),
            Self::Phyclip => Box::new(phyclip::Phyclip { options }),
            Self::Re => Box::new(radial::Radial {
                options,
                cones: false,
            }),
            Self::Ec => Box::new(radial::Radial {
                options,
                cones: true,
            }),
            Self::Rcme => Box::new(rcme::Rcme { options }),
            Self::Atmg => Box::new(atmg::Atmg { options }),
            Self::Parts => Box::new(parts::Parts { options }),
        }
    }

    /// Name on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clip => "clip",
            Self::Meru => "meru",
            Self::Hycoclip => "hycoclip",
            Self::Phyclip => "phyclip",
            Self::Re => "re",
            Self::Ec => "ec",
            Self::Rcme => "rcme",
            Self::Atmg => "atmg",
            Self::Parts => "parts",
        }
    }
}
