//! The names of the training methods, and what each needs and trains.

use clap::ValueEnum;
use espalier_data::Needs;
use serde::{Deserialize, Serialize};

use super::loss::LossConfig;

/// Name of a training method, as the user gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodName {
    /// Contrastive loss on cosines (notation 2.1).
    Clip,
    /// Contrast and entailment of images and captions in the Lorentz model (notation 2.2).
    Meru,
    /// Contrast and entailment of whole images and boxes in the Lorentz model (notation 2.3).
    Hycoclip,
    /// HyCoCLIP in a product of Lorentz factors (notation 2.4).
    Phyclip,
    /// Chains of captions, ordered by angles at a root (notation 2.5).
    Re,
    /// Chains of captions, ordered by entailment cones (notation 2.6).
    Ec,
    /// Global and local order of taxonomy paths, with images (notation 2.7).
    Rcme,
    /// Contrastive loss on angles (notation 2.8).
    Atmg,
    /// Images and their parts, without texts (notation 2.9).
    Parts,
}

/// Which parts of a model are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trainable {
    /// The image encoder, without its projection.
    pub image: bool,
    /// The projection of the image encoder.
    pub projection: bool,
    /// The text encoder: at least its projection.
    pub text: bool,
    /// The layers of the text encoder before its projection.
    pub text_layers: bool,
    /// The scale of the contrastive logits.
    pub scale: bool,
}

impl Trainable {
    /// All parts.
    pub const ALL: Self = Self {
        image: true,
        projection: true,
        text: true,
        text_layers: true,
        scale: true,
    };
}

impl MethodName {
    /// Returns the name on the command line and in files.
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

    /// Returns the values of the method's paper: the recipe `--config paper:NAME`.
    pub(super) fn paper_recipe(self) -> &'static str {
        match self {
            Self::Clip | Self::Meru | Self::Hycoclip | Self::Phyclip | Self::Atmg => {
                include_str!("../../configs/papers/meru.toml")
            }
            Self::Re | Self::Ec => include_str!("../../configs/papers/re.toml"),
            Self::Rcme => include_str!("../../configs/papers/rcme.toml"),
            Self::Parts => include_str!("../../configs/papers/parts.toml"),
        }
    }

    /// Returns the defaults in which the method differs from `configs/base.toml`, if it does.
    pub(super) fn defaults(self) -> Option<&'static str> {
        match self {
            Self::Re | Self::Ec => Some(include_str!("../../configs/methods/re.toml")),
            Self::Rcme => Some(include_str!("../../configs/methods/rcme.toml")),
            _ => None,
        }
    }

    /// Returns the required content of a sample.
    pub fn needs(self, loss: &LossConfig) -> Needs {
        match self {
            Self::Clip if loss.clip.boxes_as_pairs => Needs::Boxes,
            Self::Meru if loss.meru.boxes_as_pairs => Needs::Boxes,
            Self::Clip | Self::Meru | Self::Atmg => Needs::Captions,
            Self::Hycoclip | Self::Phyclip => Needs::Boxes,
            Self::Re | Self::Ec | Self::Rcme => Needs::Chains,
            Self::Parts => Needs::Parts,
        }
    }

    /// Returns whether the papers evaluate the method by MERU's protocol, on images with captions.
    pub fn is_of_meru_family(self) -> bool {
        !matches!(self, Self::Re | Self::Ec | Self::Rcme | Self::Parts)
    }

    /// Returns whether the method compares images and texts by the exterior angle at the text, not by distance
    /// (notation 2.8).
    pub fn compares_angles(self) -> bool {
        self == Self::Atmg
    }

    /// Returns the parts of the model that are trained.
    pub fn trainable(self) -> Trainable {
        match self {
            Self::Re | Self::Ec => Trainable {
                image: false,
                projection: false,
                scale: false,
                ..Trainable::ALL
            },
            Self::Parts => Trainable {
                text: false,
                text_layers: false,
                ..Trainable::ALL
            },
            _ => Trainable::ALL,
        }
    }
}
