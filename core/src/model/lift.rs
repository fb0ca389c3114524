//! The map from projected features to points of the embedding space.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::config::{DualConfig, LiftKind};
use crate::geometry::{Curvature, LogScalar, LogScalarConfig, lorentz, product};
use crate::math::normalize;

/// Scales and curvature of a Lorentz embedding (notation 2.0).
#[derive(Module, Debug)]
pub struct LorentzLift {
    /// Minus the curvature.
    pub curv: Curvature,
    /// Scale of image features.
    pub visual_alpha: LogScalar,
    /// Scale of text features.
    pub textual_alpha: LogScalar,
    /// Whether image features are scaled to a root mean square of 1 first.
    pub equal_image_radii: bool,
}

/// Scales and curvatures of a product of Lorentz factors (notation 1.6); one of each per factor.
#[derive(Module, Debug)]
pub struct ProductLift {
    /// Minus the curvatures.
    pub curvs: Curvature,
    /// Scales of image features.
    pub visual_alphas: LogScalar,
    /// Scales of text features.
    pub textual_alphas: LogScalar,
}

/// Maps projected features into the space of the model.
#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "one of them a model")]
pub enum Lift {
    /// Normalises to unit length. The number is unused: an enum of modules needs a field.
    Sphere(f32),
    /// Multiplies by the scale, then applies [`lorentz::exp_map0`].
    Lorentz(LorentzLift),
    /// Does the same in each factor.
    Product(ProductLift),
}

impl DualConfig {
    /// Builds the lift on a device.
    pub fn init_lift(&self, device: &Device) -> Lift {
        let d_embed = self.d_embed;
        match self.lift {
            LiftKind::Sphere => Lift::Sphere(1.0),
            LiftKind::Lorentz => {
                let alpha = LogScalarConfig::alpha(d_embed);
                Lift::Lorentz(LorentzLift {
                    curv: LogScalarConfig::curvature().init(device),
                    visual_alpha: alpha.init(device),
                    textual_alpha: alpha.init(device),
                    equal_image_radii: self.equal_image_radii,
                })
            }
            LiftKind::Product { factors, .. } => {
                let alpha = LogScalarConfig::alpha(d_embed / factors).with_count(factors);
                let curvature = LogScalarConfig::curvature().with_count(factors);
                Lift::Product(ProductLift {
                    curvs: curvature.init(device),
                    visual_alphas: alpha.init(device),
                    textual_alphas: alpha.init(device),
                })
            }
        }
    }
}

/// Lifts each factor; `[b, k d] -> [b, k d]`.
fn lift_factors(features: Tensor<2>, alphas: &LogScalar, curvs: &Curvature) -> Tensor<2> {
    let c = curvs.factors();
    let [factors, ..] = c.dims();
    let tangent = product::split(features, factors) * alphas.factors();
    product::flatten(lorentz::exp_map0(tangent, c))
}

impl Lift {
    /// Computes points of image features; in a product the factors are concatenated.
    ///
    /// # Shapes
    /// `[batch, d_embed] -> [batch, d_embed]`
    pub fn image(&self, features: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Sphere(_) => normalize(features),
            Self::Lorentz(l) => {
                let features = if l.equal_image_radii {
                    let [_, width] = features.dims();
                    normalize(features) * (width as f64).sqrt()
                } else {
                    features
                };
                lorentz::exp_map0(features * l.visual_alpha.row(), l.curv.row())
            }
            Self::Product(p) => lift_factors(features, &p.visual_alphas, &p.curvs),
        }
    }

    /// Computes points of text features; in a product the factors are concatenated.
    ///
    /// # Shapes
    /// `[batch, d_embed] -> [batch, d_embed]`
    pub fn text(&self, features: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Sphere(_) => normalize(features),
            Self::Lorentz(l) => lorentz::exp_map0(features * l.textual_alpha.row(), l.curv.row()),
            Self::Product(p) => lift_factors(features, &p.textual_alphas, &p.curvs),
        }
    }

    /// Returns the lift with all learned scalars clamped to their intervals; call this before a
    /// training step.
    #[must_use]
    pub fn clamped(self) -> Self {
        match self {
            Self::Sphere(x) => Self::Sphere(x),
            Self::Lorentz(l) => Self::Lorentz(LorentzLift {
                curv: l.curv.clamped(),
                visual_alpha: l.visual_alpha.clamped(),
                textual_alpha: l.textual_alpha.clamped(),
                equal_image_radii: l.equal_image_radii,
            }),
            Self::Product(p) => Self::Product(ProductLift {
                curvs: p.curvs.clamped(),
                visual_alphas: p.visual_alphas.clamped(),
                textual_alphas: p.textual_alphas.clamped(),
            }),
        }
    }
}
