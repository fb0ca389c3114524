//! From projected features to points of the embedding space.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::config::LiftKind;
use crate::geometry::{Curvature, LogScalar, LogScalarConfig, lorentz};
use crate::math::normalize;

/// Scales and curvature of a Lorentz embedding (METHODS 2.0).
#[derive(Module, Debug)]
pub struct LorentzLift {
    /// Minus the curvature.
    pub curv: Curvature,
    /// Scale of picture features.
    pub visual_alpha: LogScalar,
    /// Scale of text features.
    pub textual_alpha: LogScalar,
}

/// Maps projected features into the space of the model.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "one of them a model")]
pub enum Lift {
    /// Normalise to unit length. The number is unused: an enum of modules needs a field.
    Sphere(f32),
    /// Scale, then [`lorentz::exp_map0`].
    Lorentz(LorentzLift),
}

impl LiftKind {
    /// Build the lift for embeddings of width `d_embed` on a device.
    pub fn init(self, d_embed: usize, device: &Device) -> Lift {
        let alpha = LogScalarConfig::alpha(d_embed);
        match self {
            Self::Sphere => Lift::Sphere(1.0),
            Self::Lorentz => Lift::Lorentz(LorentzLift {
                curv: LogScalarConfig::curvature().init(device),
                visual_alpha: alpha.init(device),
                textual_alpha: alpha.init(device),
            }),
        }
    }
}

impl Lift {
    /// Points of picture features.
    ///
    /// # Shapes
    /// `[batch, d_embed] -> [batch, d_embed]`
    pub fn image(&self, features: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Sphere(_) => normalize(features),
            Self::Lorentz(l) => lorentz::exp_map0(features * l.visual_alpha.row(), l.curv.row()),
        }
    }

    /// Points of text features.
    ///
    /// # Shapes
    /// `[batch, d_embed] -> [batch, d_embed]`
    pub fn text(&self, features: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Sphere(_) => normalize(features),
            Self::Lorentz(l) => lorentz::exp_map0(features * l.textual_alpha.row(), l.curv.row()),
        }
    }

    /// Minus the curvature as `[1, 1]`, where the space has one.
    pub fn curvature(&self) -> Option<Tensor<2>> {
        match self {
            Self::Sphere(_) => None,
            Self::Lorentz(l) => Some(l.curv.row()),
        }
    }

    /// All learned scalars inside their intervals; to be called before a training step.
    #[must_use]
    pub fn clamped(self) -> Self {
        match self {
            Self::Sphere(x) => Self::Sphere(x),
            Self::Lorentz(l) => Self::Lorentz(LorentzLift {
                curv: l.curv.clamped(),
                visual_alpha: l.visual_alpha.clamped(),
                textual_alpha: l.textual_alpha.clamped(),
            }),
        }
    }
}
