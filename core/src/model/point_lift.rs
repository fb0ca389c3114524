//! The lift of features into the embedding space on plain slices, for inference.
//!
//! Training lifts tensors; tests compare both.

use super::config::{DualConfig, LiftKind};
use crate::error::{CoreError, Result};
use crate::geometry::{EPS, MAX_TANGENT};
use crate::weights::{HostTensor, StoredTensors};

/// Smallest length that a feature on the sphere is divided by (notation trap 34).
const SHORTEST: f64 = 1e-12;

/// Names of the learned scalars of all lifts.
const NAMES: [&str; 6] = [
    "curv",
    "visual_alpha",
    "textual_alpha",
    "curvs",
    "visual_alphas",
    "textual_alphas",
];

/// What a feature is a feature of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modality {
    /// An image.
    Image,
    /// A text.
    Text,
}

/// One hyperboloid of a lift.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factor {
    /// Scale of features.
    alpha: f64,
    /// Minus the curvature.
    c: f64,
}

/// Maps projected features of one modality to points (notation 2.0).
#[derive(Clone, Debug, PartialEq)]
pub struct PointLift {
    /// One for each factor of the space; none for the sphere.
    factors: Vec<Factor>,
    /// Whether features are scaled to a root mean square of 1 first.
    equal_radii: bool,
}

impl Factor {
    /// Multiplies by the scale, then applies the exponential map at the origin.
    fn lift(self, feature: &[f32]) -> impl Iterator<Item = f32> {
        let squares = feature.iter().map(|x| (f64::from(*x) * self.alpha).powi(2));
        let length = squares.sum::<f64>().sqrt().max(EPS);
        let root_c = self.c.sqrt();
        let r = (length * root_c).min(MAX_TANGENT);
        let scale = self.alpha * (r.sinh() / root_c) / length;
        feature.iter().map(move |x| (f64::from(*x) * scale) as f32)
    }
}

impl PointLift {
    /// Returns whether a tensor is a learned scalar of a lift.
    #[must_use]
    pub fn is_scalar(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Takes the learned scalars of a lift out of the tensors of a file; those of the other
    /// modality are removed.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`] naming a scalar that is missing, [`CoreError::TensorShape`] for
    /// one with the wrong number of values.
    pub fn take(
        config: &DualConfig,
        modality: Modality,
        tensors: &mut StoredTensors,
    ) -> Result<Self> {
        let mut found = NAMES.map(|name| (name, tensors.tensors.remove(name)));
        let mut values = |name: &str, count: usize| {
            let slot = found.iter_mut().find(|(other, _)| *other == name);
            let tensor = slot.and_then(|(_, tensor)| tensor.take());
            let tensor = tensor.ok_or_else(|| CoreError::TensorNames {
                missing: vec![name.to_owned()],
                unknown: Vec::new(),
            })?;
            let HostTensor { shape, data } = tensor.into_f32();
            if data.len() != count {
                return Err(CoreError::TensorShape {
                    tensor: name.to_owned(),
                    expected: vec![count],
                    found: shape,
                });
            }
            // Stored as logarithms.
            Ok(data.into_iter().map(|log| f64::from(log).exp()).collect())
        };
        let (alpha, alphas) = match modality {
            Modality::Image => ("visual_alpha", "visual_alphas"),
            Modality::Text => ("textual_alpha", "textual_alphas"),
        };
        let (alphas, curvatures): (Vec<f64>, Vec<f64>) = match config.lift {
            LiftKind::Sphere => (Vec::new(), Vec::new()),
            LiftKind::Lorentz => (values(alpha, 1)?, values("curv", 1)?),
            LiftKind::Product { factors, .. } => {
                (values(alphas, factors)?, values("curvs", factors)?)
            }
        };
        let factors = alphas.into_iter().zip(curvatures);
        Ok(Self {
            factors: factors.map(|(alpha, c)| Factor { alpha, c }).collect(),
            equal_radii: config.equal_image_radii && modality == Modality::Image,
        })
    }

    /// Returns the point of a feature. In a product, factors are consecutive coordinates.
    ///
    /// # Shapes
    /// `[d_embed] -> [d_embed]`
    #[must_use]
    pub fn apply(&self, feature: &[f32]) -> Vec<f32> {
        if self.factors.is_empty() {
            return normalised(feature);
        }
        let scaled = self.equal_radii.then(|| {
            let root = (feature.len() as f32).sqrt();
            let unit = normalised(feature).into_iter();
            unit.map(|x| x * root).collect::<Vec<_>>()
        });
        let feature = scaled.as_deref().unwrap_or(feature);
        let width = (feature.len() / self.factors.len()).max(1);
        let factors = self.factors.iter().zip(feature.chunks(width));
        factors
            .flat_map(|(factor, part)| factor.lift(part))
            .collect()
    }

    /// Returns the point of the mean of several features of the same thing; on the sphere each is
    /// normalised first (notation 6.1).
    ///
    /// # Shapes
    /// `[n, d_embed] -> [d_embed]`
    #[must_use]
    pub fn apply_to_mean(&self, features: &[Vec<f32>]) -> Vec<f32> {
        let mut mean = vec![0.0; features.first().map_or(0, Vec::len)];
        let share = 1.0 / features.len().max(1) as f32;
        for feature in features {
            let unit = self.factors.is_empty().then(|| normalised(feature));
            let feature = unit.as_ref().unwrap_or(feature);
            mean.iter_mut()
                .zip(feature)
                .for_each(|(sum, x)| *sum += x * share);
        }
        self.apply(&mean)
    }
}

/// Returns a vector divided by its length.
fn normalised(feature: &[f32]) -> Vec<f32> {
    let squares = feature.iter().map(|x| f64::from(*x).powi(2));
    let length = squares.sum::<f64>().sqrt().max(SHORTEST);
    feature
        .iter()
        .map(|x| (f64::from(*x) / length) as f32)
        .collect()
}
