//! A point in the mean direction of other points, through the tangent space at the root.

use super::Space;
use super::interpolation::{point, tangent};

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Returns the length of the tangent vector of a point; 1 on the sphere.
#[must_use]
pub fn length(space: &Space, x: &[f32]) -> f64 {
    norm(&tangent(space, x))
}

/// Returns the point whose tangent vector has this length and the mean direction of those of
/// `points`, each of which counts equally. On the sphere it has unit length.
#[must_use]
pub fn toward(space: &Space, points: &[&[f32]], length: f64) -> Vec<f32> {
    let mut sum = vec![0.0; points.first().map_or(0, |point| point.len())];
    for point in points {
        let tangent = tangent(space, point);
        let scale = norm(&tangent).max(1e-12).recip();
        sum.iter_mut()
            .zip(&tangent)
            .for_each(|(s, t)| *s += t * scale);
    }
    let length = if matches!(space, Space::Sphere { .. }) {
        1.0
    } else {
        length
    };
    let scale = length / norm(&sum).max(1e-12);
    sum.iter_mut().for_each(|s| *s *= scale);
    point(space, &sum)
}

#[cfg(test)]
mod tests {
    use super::super::DistanceReduction;
    use super::*;

    #[test]
    fn the_mean_direction_has_the_asked_length_in_every_space() {
        let spaces = [
            Space::Lorentz { curvature: 0.5 },
            Space::Product {
                curvatures: vec![0.5, 1.0],
                join: DistanceReduction::L1,
            },
        ];
        for space in spaces {
            let point = toward(&space, &[&[1.0, 0.0, 0.2, 0.0], &[0.0, 1.0, 0.0, 0.2]], 0.7);
            assert!((length(&space, &point) - 0.7).abs() < 1e-6, "{space:?}");
            assert!((point[0] - point[1]).abs() < 1e-6);
        }
    }

    #[test]
    fn each_point_counts_equally_whatever_its_length() {
        let space = Space::Lorentz { curvature: 0.5 };
        let point = toward(&space, &[&[9.0, 0.0], &[0.0, 0.1]], 1.0);
        assert!((point[0] - point[1]).abs() < 1e-6, "{point:?}");
    }

    #[test]
    fn a_factor_has_its_own_curvature() {
        let space = Space::Product {
            curvatures: vec![1.0, 4.0],
            join: DistanceReduction::L1,
        };
        // The tangent vectors have length asinh(sqrt(c) |x|) / sqrt(c).
        let expected = (1.0_f64.asinh().powi(2) + (2.0_f64.asinh() / 2.0).powi(2)).sqrt();
        assert!((length(&space, &[1.0, 0.0, 0.0, 1.0]) - expected).abs() < 1e-9);
        let one = Space::Lorentz { curvature: 4.0 };
        assert!((length(&one, &[0.0, 1.0]) - 2.0_f64.asinh() / 2.0).abs() < 1e-9);
    }

    #[test]
    fn on_the_sphere_it_has_unit_length() {
        let space = Space::Sphere {
            root: vec![0.0, 0.0, 1.0],
        };
        let point = toward(&space, &[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0]], 3.0);
        let expected = std::f32::consts::FRAC_1_SQRT_2;
        assert!((point[0] - expected).abs() < 1e-6 && (point[1] - expected).abs() < 1e-6);
    }
}
