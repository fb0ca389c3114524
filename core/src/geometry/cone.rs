//! Entailment cones: how wide a point's cone is and at what angle another point is seen from it.

use burn::tensor::Tensor;

use super::angle::{Pairs, UNRESOLVED, from_legs};
use super::lorentz::time;
use crate::math::{EPS, asin_clamped, clamp_max, clamp_min, dot, norm};

/// `K`: points within `2 K / sqrt(c)` of the origin have the widest cone (notation 1.1).
pub const MIN_RADIUS: f64 = 0.1;

/// Half-aperture of the cone at `x`, in `(0, pi/2)`: `asin(2 K / (sqrt(c) |x| + eps))`.
///
/// Saturates at `asin(1 - eps)` for `sqrt(c) |x| <= 2 K`, with gradient zero there.
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn half_aperture<const D: usize>(x: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let sine = (norm(x) * c.sqrt() + EPS).recip() * (2.0 * MIN_RADIUS);
    asin_clamped(sine, EPS)
}

/// Exterior angle at the apex `x`, in `[0, pi]`: 0 when `y` lies straight outward, `pi` when it
/// lies toward the origin.
///
/// Computed as `atan2(|y_perp|, sqrt(c) (x0 t - y0 |x|))` with `t = <x, y> / |x|` and `y_perp` the
/// part of `y` across `x`. It equals the `acos` of notation 1.1 and neither cancels nor leaves the
/// domain; the second argument is split as
/// `(|y|^2 - |x|^2) / (c (x0 |y| + y0 |x|)) + x0 (t - |y|)`, both terms exact in `f32`.
/// Coincident points and an apex at the origin see everything at `pi/2`, with gradient zero.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn exterior_angle<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let (x0, y0) = (time(x.clone(), c.clone()), time(y.clone(), c.clone()));
    let (nx, ny) = (norm(x.clone()), norm(y.clone()));
    let u = x.clone() / clamp_min(nx.clone(), EPS);
    let t = dot(u.clone(), y.clone());
    // Taken from the difference, so that it is exactly zero for coincident points.
    let diff = y - x;
    let along = dot(u.clone(), diff.clone());
    let across = diff.clone() - u * along;
    let perp = norm(across);

    // t - |y| = -perp^2 / (t + |y|) where t > 0; a plain difference elsewhere.
    let positive = t.clone().greater_scalar(0.0);
    let exact = (perp.clone() * perp.clone()).neg()
        / (clamp_min(t.clone(), 0.0) + clamp_min(ny.clone(), EPS));
    let shortfall = (t - ny.clone()).mask_where(positive, exact);
    let weight = c.clone() * (x0.clone() * ny.clone() + y0 * nx.clone());
    let gain = (ny.clone() - nx.clone()) * (ny + nx) / clamp_min(weight, EPS);
    let forward = (gain + x0 * shortfall) * c.clone().sqrt();

    // With c the legs give sinh^2 of the distance; below EPS the direction of y from x is numerical
    // noise.
    from_legs(perp, forward, Some(c), EPS)
}

/// Exterior angles of all pairs, rows for the apexes.
///
/// As [`exterior_angle`], with one matrix product in place of differences: angles within about
/// 5e-4 of 0 or `pi` are not resolved in `f32` and have gradient zero there; pairs that coincide
/// within it are at `pi/2`.
///
/// # Shapes
/// `x [.., b1, d]`, `y [.., b2, d]`, `c [.., 1, 1] -> [.., b1, b2]`
#[must_use]
pub fn pairwise_exterior_angle<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
) -> Tensor<D> {
    let (x0, y0) = (
        time(x.clone(), c.clone()),
        time(y.clone(), c.clone()).transpose(),
    );
    let Pairs {
        nx,
        ny,
        short,
        across,
    } = Pairs::of(x, y);
    let weight = c.clone() * (x0.clone() * ny.clone() + y0 * nx.clone());
    let gain = (ny.clone() - nx.clone()) * (ny.clone() + nx) / clamp_min(weight, EPS);
    let forward = (gain - x0 * ny * short) * c.clone().sqrt();
    from_legs(across, forward, Some(c), UNRESOLVED)
}

/// How angles and apertures are evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// [`exterior_angle`] and [`half_aperture`]: exact, and finite with their gradients everywhere.
    Stable,
    /// [`literal_angle`] and [`literal_aperture`] with this `eps`: as published, for comparing with
    /// published tables and runs. Unstable in `f32`.
    Literal(f64),
}

/// The published evaluation of [`exterior_angle`] (notation 1.1):
/// `acos(clamp((y0 + x0 u) / (|x| sqrt(max(u^2 - 1, eps)) + eps), -1 + eps, 1 - eps))` with
/// `u = c L(x, y)`.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn literal_angle<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
    eps: f64,
) -> Tensor<D> {
    let (x0, y0) = (time(x.clone(), c.clone()), time(y.clone(), c.clone()));
    let u = (dot(x.clone(), y) - x0.clone() * y0.clone()) * c;
    let reach = clamp_min(u.clone() * u.clone() - 1.0, eps).sqrt();
    let cosine = (y0 + x0 * u) / (norm(x) * reach + eps);
    clamp_max(clamp_min(cosine, -1.0 + eps), 1.0 - eps).acos()
}

/// The published evaluation of [`half_aperture`] (notation 1.1).
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn literal_aperture<const D: usize>(x: Tensor<D>, c: Tensor<D>, eps: f64) -> Tensor<D> {
    let sine = (norm(x) * c.sqrt() + eps).recip() * (2.0 * MIN_RADIUS);
    clamp_max(sine, 1.0 - eps).asin()
}

/// How far `y` lies outside the cone at `x`: `max(0, oxy(x, y) - eta aper(x))`, in radians.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn entailment_gap<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
    eta: f64,
    form: Form,
) -> Tensor<D> {
    let (angle, aperture) = match form {
        Form::Stable => (exterior_angle(x.clone(), y, c.clone()), half_aperture(x, c)),
        Form::Literal(eps) => (
            literal_angle(x.clone(), y, c.clone(), eps),
            literal_aperture(x, c, eps),
        ),
    };
    clamp_min(angle - aperture * eta, 0.0)
}
