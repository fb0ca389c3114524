//! Paths through the embedding space: from a point to the root or to another point (notation 6.10).

use super::Space;

/// Returns the point at the fraction `share` of the path from `from` to `to`, or to the root if
/// `to` is absent; 0 gives `from`, 1 the end.
///
/// In hyperbolic spaces the path is straight in the tangent space at the origin, factor by factor;
/// on the sphere it is the chord, projected to unit length.
#[must_use]
pub fn between(space: &Space, from: &[f32], to: Option<&[f32]>, share: f64) -> Vec<f32> {
    if let Space::Sphere { root } = space {
        let mixed = mix(&to_f64(from), &to_f64(to.unwrap_or(root)), share);
        let norm = mixed.iter().map(|v| v * v).sum::<f64>().sqrt();
        return mixed.iter().map(|v| (v / norm.max(1e-12)) as f32).collect();
    }
    let start = tangent(space, from);
    let end = to.map_or_else(|| vec![0.0; start.len()], |to| tangent(space, to));
    point(space, &mix(&start, &end, share))
}

/// Returns the tangent vector of a point at the root, factor by factor; the point itself on the
/// sphere.
pub(super) fn tangent(space: &Space, x: &[f32]) -> Vec<f64> {
    match space {
        Space::Sphere { .. } => to_f64(x),
        _ => {
            let factors = space.split(x);
            factors.flat_map(|(c, x)| log0(&to_f64(x), c)).collect()
        }
    }
}

/// Returns the point of a tangent vector, the inverse of [`tangent`].
pub(super) fn point(space: &Space, tangent: &[f64]) -> Vec<f32> {
    match space {
        Space::Sphere { .. } => tangent.iter().map(|v| *v as f32).collect(),
        _ => space.split(tangent).flat_map(|(c, v)| exp0(v, c)).collect(),
    }
}

fn to_f64(x: &[f32]) -> Vec<f64> {
    x.iter().map(|v| f64::from(*v)).collect()
}

fn mix(a: &[f64], b: &[f64], share: f64) -> Vec<f64> {
    let each = a.iter().zip(b);
    each.map(|(a, b)| a + share * (b - a)).collect()
}

fn scaled(v: &[f64], by: impl Fn(f64) -> f64) -> Vec<f64> {
    let norm = v.iter().map(|a| a * a).sum::<f64>().sqrt();
    let scale = if norm > 1e-12 { by(norm) / norm } else { 1.0 };
    v.iter().map(|a| a * scale).collect()
}

/// Returns the logarithmic map at the origin: the length of the result is the distance to the
/// origin (notation 1.1).
fn log0(x: &[f64], c: f64) -> Vec<f64> {
    scaled(x, |norm| (c.sqrt() * norm).asinh() / c.sqrt())
}

/// Returns the exponential map at the origin, the inverse of [`log0`]. The length is not clamped:
/// embeddings in a [`Space`] have far smaller distances than those that overflow.
fn exp0(v: &[f64], c: f64) -> Vec<f32> {
    let vector = scaled(v, |norm| (c.sqrt() * norm).sinh() / c.sqrt());
    vector.iter().map(|a| *a as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::super::DistanceReduction;
    use super::*;

    #[test]
    fn radii_fall_evenly_on_the_way_to_the_root() {
        let space = Space::Product {
            curvatures: vec![0.5, 2.0],
            join: DistanceReduction::L1,
        };
        let from = [0.3, -1.2, 2.0, 0.4];
        let start_radius = space.radius(&from);
        for share in [0.0, 0.25, 0.5, 1.0] {
            let radius = space.radius(&between(&space, &from, None, share));
            assert!(
                (radius - (1.0 - share) * start_radius).abs() < 1e-5,
                "{share}: {radius}"
            );
        }
    }

    #[test]
    fn both_ends_are_the_points_themselves() {
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        let (a, b) = ([1.0_f32, 2.0], [2.0_f32, -1.0]);
        let space = Space::Lorentz { curvature: 0.3 };
        assert!(close(&between(&space, &a, Some(&b), 0.0), &a));
        assert!(close(&between(&space, &a, Some(&b), 1.0), &b));
        let (a, b) = ([0.6_f32, 0.8], [0.8_f32, -0.6]);
        let space = Space::Sphere {
            root: vec![1.0, 0.0],
        };
        assert!(close(&between(&space, &a, Some(&b), 1.0), &b));
        assert!(close(&between(&space, &a, None, 1.0), &[1.0, 0.0]));
        let half = between(&space, &a, None, 0.5);
        assert!((half[0].hypot(half[1]) - 1.0).abs() < 1e-6);
    }
}
