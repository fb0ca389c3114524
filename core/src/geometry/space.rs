//! The embedding space on plain slices: scores, radii and cones without a device.
//!
//! Ranking thousands of texts for one photo needs no tensor library, only one clear formula in
//! `f64`. Training uses the tensor functions of the neighbouring modules; tests compare both.

#![expect(
    clippy::disallowed_methods,
    reason = "f64 with arguments clamped to the domain"
)]

use serde::{Deserialize, Serialize};

use super::constants::{CONE_RADIUS, EPS, MIN_RADIUS};

/// How the distances of the factors are combined into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DistanceReduction {
    /// Mean of the distances. The paper writes the sum; the published code takes the mean. The
    /// logit scale is bounded, so the two are different models.
    L1,
    /// Root of the mean of their squares.
    L2,
}

/// The space of the embeddings, with its root.
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
    /// Product of Lorentz factors of consecutive coordinates (PHyCLIP): score = sum of their inner
    /// products, radius = sum of their distances to the origin.
    Product {
        /// Minus the curvature of each factor.
        curvatures: Vec<f64>,
        /// How distances are combined.
        join: DistanceReduction,
    },
}

fn dot(x: &[f32], y: &[f32]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

/// Returns `x·x`, `x·y` and `y·y`, computed in one pass so that the three sums do not wait for each other.
fn dots(x: &[f32], y: &[f32]) -> [f64; 3] {
    x.iter().zip(y).fold([0.0; 3], |[xx, xy, yy], (a, b)| {
        let (a, b) = (f64::from(*a), f64::from(*b));
        [xx + a * a, xy + a * b, yy + b * b]
    })
}

fn chord(x: &[f32], y: &[f32]) -> f64 {
    x.iter()
        .zip(y)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2))
        .sum::<f64>()
        .sqrt()
}

/// The Lorentz model of one curvature, on slices.
#[derive(Clone, Copy)]
struct Hyperboloid {
    c: f64,
}

impl Hyperboloid {
    /// Returns the time component of a point with this squared norm.
    fn time(self, square: f64) -> f64 {
        (1.0 / self.c + square).sqrt()
    }

    fn inner(self, x: &[f32], y: &[f32]) -> f64 {
        let [xx, xy, yy] = dots(x, y);
        xy - self.time(xx) * self.time(yy)
    }

    fn dist(self, x: &[f32], y: &[f32]) -> f64 {
        let z = (-self.c * self.inner(x, y) - 1.0).max(EPS);
        (z + (z * (z + 2.0)).sqrt()).ln_1p() / self.c.sqrt()
    }

    fn dist0(self, x: &[f32]) -> f64 {
        let root_c = self.c.sqrt();
        (root_c * dot(x, x).sqrt()).asinh() / root_c
    }

    fn exterior_angle(self, x: &[f32], y: &[f32]) -> f64 {
        let [xx, xy, yy] = dots(x, y);
        let along = self.c.sqrt() * (self.time(xx) * xy - self.time(yy) * xx);
        angle(along, (xx * yy - xy * xy).max(0.0).sqrt())
    }

    fn half_aperture(self, x: &[f32]) -> f64 {
        let norm = (self.c * dot(x, x)).sqrt();
        (2.0 * MIN_RADIUS / (norm + EPS)).min(1.0 - EPS).asin()
    }
}

/// Returns the angle with these legs; a right angle if both are 0.
fn angle(along: f64, across: f64) -> f64 {
    if along == 0.0 && across == 0.0 {
        std::f64::consts::FRAC_PI_2
    } else {
        across.atan2(along)
    }
}

impl Space {
    /// Returns minus the curvature of each factor: one for a single hyperboloid, none on the sphere.
    #[must_use]
    pub fn curvatures(&self) -> &[f64] {
        match self {
            Self::Sphere { .. } => &[],
            Self::Lorentz { curvature } => std::slice::from_ref(curvature),
            Self::Product { curvatures, .. } => curvatures,
        }
    }

    /// Returns the coordinates of each factor, after minus its curvature.
    pub(crate) fn split<'a, T>(&'a self, x: &'a [T]) -> impl Iterator<Item = (f64, &'a [T])> {
        let curvatures = self.curvatures();
        let width = x.len() / curvatures.len().max(1);
        curvatures.iter().copied().zip(x.chunks(width.max(1)))
    }

    fn factors<'a>(&'a self, x: &'a [f32]) -> impl Iterator<Item = (Hyperboloid, &'a [f32])> {
        self.split(x).map(|(c, x)| (Hyperboloid { c }, x))
    }

    /// Evaluates `number` for each factor of two points.
    fn each(
        &self,
        x: &[f32],
        y: &[f32],
        number: impl Fn(Hyperboloid, &[f32], &[f32]) -> f64,
    ) -> Vec<f64> {
        let pairs = self.factors(x).zip(self.factors(y));
        pairs.map(|((h, x), (_, y))| number(h, x, y)).collect()
    }

    /// Returns the similarity that ranks texts for an image; larger is closer (notation 6.0).
    ///
    /// On the sphere this is the cosine, in `[-1, 1]`. Otherwise it is the Lorentzian inner
    /// product, at most `-1/c`; in a product the sum over the factors.
    #[must_use]
    pub fn score(&self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Sphere { .. } => dot(x, y),
            _ => self.each(x, y, Hyperboloid::inner).iter().sum(),
        }
    }

    /// Returns the logit of the training loss before scaling: the cosine, or minus the distance.
    #[must_use]
    pub fn logit(&self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Sphere { .. } => dot(x, y),
            Self::Product {
                join: DistanceReduction::L2,
                ..
            } => -mean(&self.each(x, y, |h, x, y| h.dist(x, y).powi(2))).sqrt(),
            _ => -mean(&self.each(x, y, Hyperboloid::dist)),
        }
    }

    /// Returns the distance to the root, at least 0; larger is more specific. In a product this is
    /// the sum over the factors.
    #[must_use]
    pub fn radius(&self, x: &[f32]) -> f64 {
        match self {
            Self::Sphere { root } => chord(x, root),
            _ => self.radii(x).iter().sum(),
        }
    }

    /// Returns the distance to the origin in each factor; empty on the sphere.
    #[must_use]
    pub fn radii(&self, x: &[f32]) -> Vec<f64> {
        self.factors(x).map(|(h, x)| h.dist0(x)).collect()
    }

    /// Returns the exterior angle at `x` toward `y`, in `[0, pi]` (notation 1.1 and 1.4); in a
    /// product the mean over the factors.
    #[must_use]
    pub fn exterior_angle(&self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Sphere { root } => {
                let a: Vec<f32> = x.iter().zip(root).map(|(e, r)| e - r).collect();
                let b: Vec<f32> = y.iter().zip(x).map(|(f, e)| f - e).collect();
                let along = dot(&a, &b);
                let across = (dot(&a, &a) * dot(&b, &b) - along * along).max(0.0);
                angle(along, across.sqrt())
            }
            _ => mean(&self.each(x, y, Hyperboloid::exterior_angle)),
        }
    }

    /// Returns the half-aperture of the cone at `x`; on the sphere `asin(min(1, 0.05 / |x - r|))`
    /// (notation 1.5), in a product the mean over the factors.
    #[must_use]
    pub fn half_aperture(&self, x: &[f32]) -> f64 {
        match self {
            Self::Sphere { root } => (CONE_RADIUS / chord(x, root).max(EPS)).min(1.0).asin(),
            _ => {
                let each: Vec<f64> = self.factors(x).map(|(h, x)| h.half_aperture(x)).collect();
                mean(&each)
            }
        }
    }

    /// Returns whether the cone at `x` contains `y`.
    #[must_use]
    pub fn entails(&self, x: &[f32], y: &[f32]) -> bool {
        self.exterior_angle(x, y) <= self.half_aperture(x)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Space = Space::Lorentz { curvature: 1.0 };

    #[test]
    fn raw_points_of_the_reference_have_its_distance_angle_and_aperture() {
        // notation 9.1, raw x = (1, 2), y = (2, -1), c = 1.
        let (x, y) = ([1.0, 2.0], [2.0, -1.0]);
        assert!((-ONE.logit(&x, &y) - 2.477_888_730_288).abs() < 1e-7);
        // The published angle has eps = 1e-8 in its denominator.
        assert!((ONE.exterior_angle(&x, &y) - 2.753_995_965_083).abs() < 1e-7);
        assert!((ONE.half_aperture(&x) - 0.089_562_407_038).abs() < 1e-9);
        assert!((ONE.radius(&x) - 1.544_484_952_422).abs() < 1e-9);
    }

    #[test]
    fn at_the_origin_and_for_equal_points_angles_are_right() {
        let right = std::f64::consts::FRAC_PI_2;
        let origin = [0.0, 0.0];
        assert!((ONE.half_aperture(&origin) - right).abs() < 1e-3);
        assert_eq!(ONE.exterior_angle(&origin, &[0.5, 0.5]), right);
        assert_eq!(ONE.exterior_angle(&[0.5, 0.25], &[0.5, 0.25]), right);
    }

    #[test]
    fn distances_of_factors_are_joined_as_a_sum_or_as_a_root_of_squares() {
        let product = |join| Space::Product {
            curvatures: vec![1.0, 1.0],
            join,
        };
        let (x, y) = ([0.0, 0.0], [1.0, 3.0]);
        let distances = [1.0_f64, 3.0].map(f64::asinh);
        let sum = distances.iter().sum::<f64>() / 2.0;
        let squares = distances.map(|d| d * d).iter().sum::<f64>() / 2.0;
        let logit = |join| product(join).logit(&x, &y);
        assert!((logit(DistanceReduction::L1) + sum).abs() < 1e-9);
        assert!((logit(DistanceReduction::L2) + squares.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn on_the_sphere_the_score_is_the_cosine() {
        let sphere = Space::Sphere {
            root: vec![1.0, 0.0],
        };
        assert_eq!(sphere.score(&[0.0, 1.0], &[0.0, -0.5]), -0.5);
        assert_eq!(sphere.logit(&[0.0, 1.0], &[0.0, -0.5]), -0.5);
    }

    #[test]
    fn a_point_straight_outward_is_entailed_and_one_inward_is_not() {
        let (near, far) = ([0.3, 0.4], [0.6, 0.8]);
        assert!(ONE.entails(&near, &far));
        assert!(!ONE.entails(&far, &near));
    }

    #[test]
    fn a_product_of_two_factors_has_the_reference_distance_and_score() {
        // notation 9.2, PHyCLIP with c = (0.5, 2): images and texts of roles 0 and 1.
        let curvatures = vec![0.5, 2.0];
        let point = |role: f64, i: f64| -> Vec<f32> {
            let v: Vec<f64> = (0..4)
                .map(|j| 0.5 * (1.0 + 0.7 * i + 0.3 * f64::from(j) + 1.1 * role).sin())
                .collect();
            v.chunks(2)
                .zip(&curvatures)
                .flat_map(|(v, c)| {
                    let r = (c * (v[0] * v[0] + v[1] * v[1])).sqrt();
                    [v[0] * r.sinh() / r, v[1] * r.sinh() / r].map(|x| x as f32)
                })
                .collect()
        };
        let space = Space::Product {
            curvatures: curvatures.clone(),
            join: DistanceReduction::L1,
        };
        let image = point(0.0, 0.0);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        let known = [
            (0.321_908_173_456, -2.639_391_878_816),
            (0.748_549_591_685, -3.189_784_479_678),
            (1.151_200_189_621, -4.151_278_375_688),
        ];
        for (i, (dist, score)) in known.into_iter().enumerate() {
            let text = point(1.0, i as f64);
            near(-space.logit(&image, &text), dist);
            near(space.score(&image, &text), score);
        }
    }

    #[test]
    fn radial_angle_on_the_sphere_matches_the_reference() {
        // notation 9.3 (a).
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
