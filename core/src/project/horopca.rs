//! Principal components of hyperbolic space (HoroPCA, Chami et al. 2021; notation 6.11).
//!
//! The components are two orthonormal ideal points `p1, p2`. Let `u_j = exp(B_{p_j}(x))`; in the
//! Lorentz model `u_j = x0 - <x, p_j>`. The horospherical projection of `x` is the point `y` of the
//! plane through the origin, `p1` and `p2` that has the same two Busemann values and is on the same
//! side of the geodesic between `p1` and `p2` as the origin. The paper constructs it by moving away
//! from that geodesic. The same point has a closed form:
//!
//! ```text
//! y0 = u1 + u2 - sqrt(2 u1 u2 - 1),  y1 = y0 - u1,  y2 = y0 - u2
//! ```
//!
//! because `sqrt(2 u1 u2)` is the hyperbolic cosine of the distance to that geodesic. The
//! components maximise the mean squared distance between projections.

use super::pca::{axes, orthonormal};
use crate::geometry::poincare::{acosh_1p, dot, log0, to_lorentz};

/// Maximum number of steps of the ascent.
const STEPS: usize = 500;

/// Smallest `2 u1 u2 - 1`, so that its root has a finite derivative on the geodesic between the
/// components.
const ON_SPINE: f64 = 1e-12;

/// Two components and the projected points.
#[derive(Clone, Debug, PartialEq)]
pub struct HoroPca {
    /// Orthonormal ideal points.
    pub components: [Vec<f64>; 2],
    /// Positions in the Poincaré disk, one for each given point.
    pub points: Vec<[f64; 2]>,
    /// Mean squared distance of the projections divided by that of the points, in `[0, 1]`.
    pub explained: f64,
}

/// A point of the Lorentz model with its time part.
type Lorentz = (Vec<f64>, f64);

/// A projected point and the derivatives of its coordinates by `u1` and `u2`.
struct Projected {
    y: [f64; 3],
    by: [[f64; 3]; 2],
}

fn project(x: &Lorentz, components: &[Vec<f64>; 2]) -> Projected {
    let [u1, u2] = [0, 1].map(|j| x.1 - dot(&x.0, &components[j]));
    let root = (2.0 * u1 * u2 - 1.0).max(ON_SPINE).sqrt();
    let y0 = u1 + u2 - root;
    let (by1, by2) = (1.0 - u2 / root, 1.0 - u1 / root);
    Projected {
        y: [y0, y0 - u1, y0 - u2],
        by: [[by1, by1 - 1.0, by1], [by2, by2, by2 - 1.0]],
    }
}

/// Returns the derivative of `d^2` by `cosh d`, given `cosh d - 1`.
fn slope(z: f64) -> f64 {
    let sinh = (z * (z + 2.0)).sqrt();
    // d / sinh(d) tends to 1 for small d.
    match sinh > 1e-9 {
        true => 2.0 * acosh_1p(z) / sinh,
        false => 2.0,
    }
}

fn cosh_minus_one(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - 1.0).max(0.0)
}

fn pairs(n: usize) -> f64 {
    (n * n.saturating_sub(1)) as f64 / 2.0
}

/// Returns the mean squared distance of all pairs. `cosh_minus_one` is the hyperbolic cosine of the
/// distance of two points, minus 1.
fn mean_square<T>(points: &[T], cosh_minus_one: impl Fn(&T, &T) -> f64) -> f64 {
    let square = |a: &T, b: &T| acosh_1p(cosh_minus_one(a, b)).powi(2);
    let to_later = |(i, a): (usize, &T)| -> f64 {
        let later = points[i + 1..].iter();
        later.map(|b| square(a, b)).sum()
    };
    let sum: f64 = points.iter().enumerate().map(to_later).sum();
    sum / pairs(points.len()).max(1.0)
}

/// Returns the mean squared distance between the projections.
fn spread(points: &[Lorentz], components: &[Vec<f64>; 2]) -> f64 {
    let at: Vec<[f64; 3]> = points.iter().map(|x| project(x, components).y).collect();
    mean_square(&at, cosh_minus_one)
}

/// Returns the gradient of [`spread`] by the components.
fn gradient(points: &[Lorentz], components: &[Vec<f64>; 2]) -> [Vec<f64>; 2] {
    let at: Vec<Projected> = points.iter().map(|x| project(x, components)).collect();
    let mut by_y = vec![[0.0; 3]; at.len()];
    for i in 0..at.len() {
        for j in i + 1..at.len() {
            let (a, b) = (&at[i].y, &at[j].y);
            let slope = slope(cosh_minus_one(a, b));
            for (k, sign) in [1.0, -1.0, -1.0].into_iter().enumerate() {
                by_y[i][k] += slope * sign * b[k];
                by_y[j][k] += slope * sign * a[k];
            }
        }
    }
    let share = 1.0 / pairs(points.len()).max(1.0);
    let mut out = [0, 1].map(|_| vec![0.0; components[0].len()]);
    for ((x, projected), by_y) in points.iter().zip(&at).zip(&by_y) {
        for (out, by) in out.iter_mut().zip(&projected.by) {
            // The derivative of u_j along dp_j is -<x, dp_j>.
            let pull: f64 = -share * by.iter().zip(by_y).map(|(a, b)| a * b).sum::<f64>();
            out.iter_mut().zip(&x.0).for_each(|(o, v)| *o += pull * v);
        }
    }
    out
}

/// Returns the component of a gradient tangent to the manifold of orthonormal pairs:
/// `G - sym(G P^T) P`.
fn tangent(gradient: &[Vec<f64>; 2], components: &[Vec<f64>; 2]) -> [Vec<f64>; 2] {
    let inner = |a: usize, b: usize| dot(&gradient[a], &components[b]);
    let cross = (inner(0, 1) + inner(1, 0)) / 2.0;
    let weights = [[inner(0, 0), cross], [cross, inner(1, 1)]];
    [0, 1].map(|j| {
        let each = gradient[j].iter().zip(&components[0]).zip(&components[1]);
        each.map(|((g, p), q)| g - weights[j][0] * p - weights[j][1] * q)
            .collect()
    })
}

fn moved(from: &[Vec<f64>; 2], along: &[Vec<f64>; 2], step: f64) -> [Vec<f64>; 2] {
    orthonormal([0, 1].map(|j| {
        let each = from[j].iter().zip(&along[j]);
        each.map(|(p, a)| p + step * a).collect()
    }))
}

/// Returns the principal axes of the tangent vectors, with the signs that keep the largest spread.
/// The sign matters because a component is one end of a geodesic.
fn start(points: &[Vec<f64>], lorentz: &[Lorentz]) -> [Vec<f64>; 2] {
    let [first, second] = axes(&points.iter().map(|p| log0(p)).collect::<Vec<_>>());
    let signed = |v: &[f64], sign: f64| v.iter().map(|a| sign * a).collect::<Vec<f64>>();
    let mut best = [first.clone(), second.clone()];
    let mut most = spread(lorentz, &best);
    for (a, b) in [(1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        let other = [signed(&first, a), signed(&second, b)];
        let result = spread(lorentz, &other);
        if result > most {
            (best, most) = (other, result);
        }
    }
    best
}

/// Projects points of the Poincaré ball onto the disk; the origin is kept.
///
/// Points need at least two coordinates. This is gradient ascent on orthonormal pairs; the step is
/// doubled after a success and halved after a failure. It is deterministic.
#[must_use]
pub fn horopca(points: &[Vec<f64>]) -> HoroPca {
    let lorentz: Vec<Lorentz> = points.iter().map(|p| to_lorentz(p)).collect();
    let mut components = start(points, &lorentz);
    let mut most = spread(&lorentz, &components);
    let mut step = 0.1;
    for _ in 0..STEPS {
        let along = tangent(&gradient(&lorentz, &components), &components);
        let mut gained = 0.0;
        while step > 1e-12 {
            let next = moved(&components, &along, step);
            let result = spread(&lorentz, &next);
            if result > most {
                gained = result - most;
                (components, most) = (next, result);
                step *= 2.0;
                break;
            }
            step /= 2.0;
        }
        if gained <= 1e-9 * most {
            break;
        }
    }
    let total = mean_square(&lorentz, |a, b| a.1 * b.1 - dot(&a.0, &b.0) - 1.0);
    HoroPca {
        points: points.iter().map(|p| put(p, &components)).collect(),
        components,
        // A ratio of rounding errors would have no meaning.
        explained: if total > 1e-12 {
            (most / total).min(1.0)
        } else {
            1.0
        },
    }
}

/// Returns the projected position of a point of the ball.
#[must_use]
fn put(p: &[f64], components: &[Vec<f64>; 2]) -> [f64; 2] {
    let [y0, y1, y2] = project(&to_lorentz(p), components).y;
    [y1 / (1.0 + y0), y2 / (1.0 + y0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::poincare::{busemann, distance, exp0, mobius_add};

    fn cloud() -> Vec<Vec<f64>> {
        (0..9)
            .map(|i| {
                let t = f64::from(i);
                exp0(&[
                    (1.3 * t).sin(),
                    0.8 * (0.7 * t + 1.0).cos(),
                    0.3 * t - 1.0,
                    0.2 * (2.1 * t).sin(),
                ])
            })
            .collect()
    }

    #[test]
    fn distances_on_a_geodesic_are_recovered_exactly() {
        // A geodesic through the origin in a direction that is not an axis.
        let along = [0.36, 0.48, 0.64, 0.48];
        let at = |t: f64| exp0(&along.map(|a| a * t));
        let points: Vec<Vec<f64>> = [-2.0, -0.5, 0.0, 0.8, 1.7, 3.0].map(at).to_vec();
        let result = horopca(&points);
        assert!(
            (result.explained - 1.0).abs() < 1e-6,
            "{}",
            result.explained
        );
        for (i, p) in points.iter().enumerate() {
            for (j, q) in points.iter().enumerate() {
                let projected = distance(&result.points[i], &result.points[j]);
                assert!(
                    (projected - distance(p, q)).abs() < 1e-4,
                    "{i} {j}: {projected}"
                );
            }
        }
    }

    /// Returns the distance to the geodesic between two orthonormal ideal points: to the
    /// Minkowski-orthogonal projection `(u2 (1, p1) + u1 (1, p2)) / sqrt(2 u1 u2)` onto their span,
    /// as published.
    fn to_spine(p: &[f64], ideals: [&[f64]; 2]) -> f64 {
        let (x, x0) = to_lorentz(p);
        let [u1, u2] = ideals.map(|q| x0 - dot(&x, q));
        let length = (2.0 * u1 * u2).sqrt();
        let each = ideals[0].iter().zip(ideals[1]);
        let space: Vec<f64> = each.map(|(a, b)| (u2 * a + u1 * b) / length).collect();
        acosh_1p(x0 * (u1 + u2) / length - dot(&x, &space) - 1.0)
    }

    #[test]
    fn projections_keep_busemann_values_and_the_distance_to_the_spine_on_the_origins_side() {
        let points = cloud();
        let result = horopca(&points);
        let [first, second] = &result.components;
        let axes: [&[f64]; 2] = [&[1.0, 0.0], &[0.0, 1.0]];
        for (p, y) in points.iter().zip(&result.points) {
            for (component, axis) in [first, second].into_iter().zip(axes) {
                assert!((busemann(axis, y) - busemann(component, p)).abs() < 1e-9);
            }
            let (original, projected) = (to_spine(p, [first, second]), to_spine(y, axes));
            assert!(
                (original - projected).abs() < 1e-6,
                "{original} {projected}"
            );
            // The geodesic between the axes is the circle of radius 1 around (1, 1).
            assert!((y[0] - 1.0).hypot(y[1] - 1.0) > 1.0 - 1e-9);
        }
    }

    #[test]
    fn a_projection_is_never_farther_apart_than_the_points() {
        let points = cloud();
        let result = horopca(&points);
        assert!(
            result.explained > 0.5 && result.explained <= 1.0,
            "{}",
            result.explained
        );
        for i in 0..points.len() {
            for j in 0..i {
                let projected = distance(&result.points[i], &result.points[j]);
                assert!(projected <= distance(&points[i], &points[j]) + 1e-9);
            }
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let points: Vec<Lorentz> = cloud().iter().map(|p| to_lorentz(p)).collect();
        let components = orthonormal([vec![0.5, 0.2, -0.1, 0.7], vec![0.1, -0.6, 0.4, 0.3]]);
        let result = gradient(&points, &components);
        for j in 0..2 {
            for k in 0..4 {
                let shifted = |by: f64| {
                    let mut other = components.clone();
                    other[j][k] += by;
                    spread(&points, &other)
                };
                let known = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                let error = (result[j][k] - known).abs();
                assert!(error < 1e-6 * known.abs().max(1.0), "{j} {k}: {error}");
            }
        }
    }

    #[test]
    fn coincident_points_are_projected_without_a_nan() {
        let p = mobius_add(&[0.2, 0.1, 0.0], &[0.0, 0.3, 0.1]);
        let result = horopca(&[p.clone(), p.clone(), p]);
        assert!(result.points.iter().flatten().all(|v| v.is_finite()));
        assert_eq!(result.explained, 1.0);
    }
}
