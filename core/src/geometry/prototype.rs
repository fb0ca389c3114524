//! A point in the mean direction of other points, through the tangent space at the root.

use super::Space;
use super::interpolation::{exp0, log0};

/// Returns the tangent vector of a point at the root, factor by factor; the point itself on the
/// sphere.
fn tangent(space: &Space, x: &[f32]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let Some((curvatures, width)) = factors(space, x.len()) else {
        return x;
    };
    let factors = x.chunks(width).zip(curvatures);
    factors.flat_map(|(x, c)| log0(x, *c)).collect()
}

/// Returns the curvatures of the factors and their width; `None` on the sphere.
fn factors(space: &Space, width: usize) -> Option<(&[f64], usize)> {
    let curvatures = match space {
        Space::Sphere { .. } => return None,
        Space::Lorentz { curvature } => std::slice::from_ref(curvature),
        Space::Product { curvatures, .. } => curvatures.as_slice(),
    };
    Some((curvatures, (width / curvatures.len().max(1)).max(1)))
}

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
    match factors(space, sum.len()) {
        None => sum.iter().map(|v| *v as f32).collect(),
        Some((curvatures, width)) => {
            let factors = sum.chunks(width).zip(curvatures);
            factors.flat_map(|(v, c)| exp0(v, *c)).collect()
        }
    }
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
