//! The embedding space on plain slices: scores, radii and cones without a device.
//!
//! Rankings of thousands of texts against one photo need no tensor library; they need one clear
//! formula in `f64`. Training uses the tensor forms of this module's siblings, and tests hold the
//! two together.

#![expect(
    clippy::disallowed_methods,
    reason = "f64 with arguments clamped to the domain"
)]

use serde::{Deserialize, Serialize};

use super::cone::MIN_RADIUS;
use crate::math::EPS;

/// Where embeddings live and where the root is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Space {
    /// Unit sphere with a root vector (CLIP, RE): score = cosine, radius = chord to the root.
    Sphere {
        /// Unit vector of the root, the embedding of the empty text.
        root: Vec<f32>,
    },
    /// Lorentz model, origin as the root (MERU, HyCoCLIP): score = Lorentzian inner product,
    /// radius = distance to the origin.
    Lorentz {
        /// Minus the curvature, `c > 0`.
        curvature: f64,
    },
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

fn chord(x: &[f32], y: &[f32]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum::<f64>()
        .sqrt()
}

impl Space {
    /// Similarity that ranks texts for an image, larger is closer (METHODS 6.0).
    ///
    /// Cosine in `[-1, 1]` on the sphere; Lorentzian inner product, at most `-1/c`, else.
    #[must_use]
    pub fn score(&self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Sphere { .. } => dot(x, y),
            Self::Lorentz { curvature } => {
                let time = |v| (1.0 / curvature + dot(v, v)).sqrt();
                dot(x, y) - time(x) * time(y)
            }
        }
    }

    /// The logit that the model was trained with, before its scale: cosine or minus distance.
    #[must_use]
    pub fn logit(&self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Sphere { .. } => dot(x, y),
            Self::Lorentz { curvature } => {
                let z = (-curvature * self.score(x, y) - 1.0).max(EPS);
                -(z + (z * (z + 2.0)).sqrt()).ln_1p() / curvature.sqrt()
            }
        }
    }

    /// Distance to the root, at least 0; larger is more specific.
    #[must_use]
    pub fn radius(&self, x: &[f32]) -> f64 {
        match self {
            Self::Sphere { root } => chord(x, root),
            Self::Lorentz { curvature } => {
                let root_c = curvature.sqrt();
                (root_c * dot(x, x).sqrt()).asinh() / root_c
            }
        }
    }

    /// Exterior angle at `x` toward `y`, in `[0, pi]` (METHODS 1.1 and 1.4).
    #[must_use]
    pub fn exterior_angle(&self, x: &[f32], y: &[f32]) -> f64 {
        let (along, across) = match self {
            Self::Sphere { root } => {
                let a: Vec<f32> = x.iter().zip(root).map(|(e, r)| e - r).collect();
                let b: Vec<f32> = y.iter().zip(x).map(|(f, e)| f - e).collect();
                let along = dot(&a, &b);
                (
                    along,
                    (dot(&a, &a) * dot(&b, &b) - along * along).max(0.0).sqrt(),
                )
            }
            Self::Lorentz { curvature } => {
                let time = |v| (1.0 / curvature + dot(v, v)).sqrt();
                let (xx, xy, yy) = (dot(x, x), dot(x, y), dot(y, y));
                let along = curvature.sqrt() * (time(x) * xy - time(y) * xx);
                (along, (xx * yy - xy * xy).max(0.0).sqrt())
            }
        };
        if along == 0.0 && across == 0.0 {
            std::f64::consts::FRAC_PI_2
        } else {
            across.atan2(along)
        }
    }

    /// Half-aperture of the cone at `x`; on the sphere `asin(min(1, 0.05 / |x - r|))` (METHODS 1.5).
    #[must_use]
    pub fn half_aperture(&self, x: &[f32]) -> f64 {
        match self {
            Self::Sphere { root } => (0.05 / chord(x, root).max(EPS)).min(1.0).asin(),
            Self::Lorentz { curvature } => {
                let norm = (curvature * dot(x, x)).sqrt();
                (2.0 * MIN_RADIUS / (norm + EPS)).min(1.0 - EPS).asin()
            }
        }
    }

    /// Whether the cone at `x` holds `y`.
    #[must_use]
    pub fn entails(&self, x: &[f32], y: &[f32]) -> bool {
        self.exterior_angle(x, y) <= self.half_aperture(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Space = Space::Lorentz { curvature: 1.0 };

    #[test]
    fn raw_points_of_the_reference_have_its_distance_angle_and_aperture() {
        // METHODS 9.1, raw x = (1, 2), y = (2, -1), c = 1.
        let (x, y) = ([1.0, 2.0], [2.0, -1.0]);
        assert!((-ONE.logit(&x, &y) - 2.477_888_730_288).abs() < 1e-7);
        // The published angle has eps = 1e-8 in its denominator.
        assert!((ONE.exterior_angle(&x, &y) - 2.753_995_965_083).abs() < 1e-7);
        assert!((ONE.half_aperture(&x) - 0.089_562_407_038).abs() < 1e-9);
        assert!((ONE.radius(&x) - 1.544_484_952_422).abs() < 1e-9);
    }

    #[test]
    fn a_point_straight_outward_is_entailed_and_one_inward_is_not() {
        let (near, far) = ([0.3, 0.4], [0.6, 0.8]);
        assert!(ONE.entails(&near, &far));
        assert!(!ONE.entails(&far, &near));
    }

    #[test]
    fn radial_angle_on_the_sphere_matches_the_reference() {
        // METHODS 9.3 (a).
        let unit = |v: [f32; 3]| {
            let n = v.iter().map(|a| a * a).sum::<f32>().sqrt();
            v.map(|a| a / n)
        };
        let space = Space::Sphere {
            root: vec![1.0, 0.0, 0.0],
        };
        let (e, f, g) = (
            unit([1.0, 1.0, 0.0]),
            unit([1.0, 1.0, 1.0]),
            unit([1.0, -1.0, 0.5]),
        );
        assert!((space.exterior_angle(&e, &f) - 1.686_974_395_656).abs() < 1e-6);
        assert!((space.exterior_angle(&e, &g) - 2.660_560_316_423).abs() < 1e-6);
        assert!((space.radius(&e) - 0.765_366_864_730).abs() < 1e-6);
        assert!((space.half_aperture(&e) - 0.065_374_705_264).abs() < 1e-6);
    }
}
