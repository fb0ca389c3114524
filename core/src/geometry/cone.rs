//! Entailment cones: the aperture of a point's cone, and the angle at which it sees another point.

use burn::tensor::Tensor;

use super::angle::{Pairs, UNRESOLVED, from_legs};
use super::constants::{EPS, MIN_RADIUS};
use super::lorentz::time;
use crate::math::{asin_clamped, clamp_max, clamp_min, dot, norm};

/// Returns the half-aperture of the cone at `x`, in `(0, pi/2)`: `asin(2 K / (sqrt(c) |x| + eps))`.
///
/// It is constant, `asin(1 - eps)` with gradient zero, for `sqrt(c) |x| <= 2 K`.
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn half_aperture<const D: usize>(x: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    half_aperture_eps(x, c, EPS)
}

/// [`half_aperture`] with another `eps`, which decides on the widest cone.
fn half_aperture_eps<const D: usize>(x: Tensor<D>, c: Tensor<D>, eps: f64) -> Tensor<D> {
    let sine = (norm(x) * c.sqrt() + eps).recip() * (2.0 * MIN_RADIUS);
    asin_clamped(sine, eps)
}

/// Returns the exterior angle at the apex `x`, in `[0, pi]`: 0 when `y` lies straight outward, `pi`
/// when it lies toward the origin.
///
/// Computed as `atan2(|y_perp|, sqrt(c) (x0 t - y0 |x|))` with `t = <x, y> / |x|` and `y_perp` the
/// component of `y` orthogonal to `x`. This equals the `acos` of notation 1.1, but it does not
/// cancel and stays inside the domain. The second argument is split into
/// `(|y|^2 - |x|^2) / (c (x0 |y| + y0 |x|)) + x0 (t - |y|)`; both terms are exact in `f32`.
/// For coincident points and for an apex at the origin the angle is `pi/2`, with gradient zero.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn exterior_angle<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let (x0, y0) = (time(x.clone(), c.clone()), time(y.clone(), c.clone()));
    let (nx, ny) = (norm(x.clone()), norm(y.clone()));
    let u = x.clone() / clamp_min(nx.clone(), EPS);
    let t = dot(u.clone(), y.clone());
    // Computed from the difference, so that it is exactly zero for coincident points.
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

    // Times c, the squared length of the legs is sinh^2 of the distance. Below EPS the direction
    // from x to y is numerical noise.
    from_legs(perp, forward, Some(c), EPS)
}

/// Returns the exterior angles of all pairs, one row per apex.
///
/// Like [`exterior_angle`], with one matrix product instead of differences. In `f32`, angles within
/// about 5e-4 of 0 or `pi` are not resolved and have gradient zero; pairs closer than that have the
/// angle `pi/2`.
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
pub enum AngleFormula {
    /// [`exterior_angle`] and [`half_aperture`]: exact; values and gradients are finite everywhere.
    Stable,
    /// [`literal_angle`] and [`literal_aperture`] with this `eps`: the published formulas, for
    /// comparison with published tables and runs. Unstable in `f32`.
    Literal(f64),
}

/// Computes [`exterior_angle`] by the published formula (notation 1.1):
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

/// Computes [`half_aperture`] by the published formula (notation 1.1).
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn literal_aperture<const D: usize>(x: Tensor<D>, c: Tensor<D>, eps: f64) -> Tensor<D> {
    let sine = (norm(x) * c.sqrt() + eps).recip() * (2.0 * MIN_RADIUS);
    clamp_max(sine, 1.0 - eps).asin()
}

/// Returns how far `y` lies outside the cone at `x`, in radians: `max(0, oxy(x, y) - eta aper(x))`.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn entailment_gap<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
    eta: f64,
    form: AngleFormula,
) -> Tensor<D> {
    entailment_gap_eps(x, y, c, eta, (form, EPS))
}

/// [`entailment_gap`] with another `eps` of [`AngleFormula::Stable`].
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn entailment_gap_eps<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
    eta: f64,
    (form, eps): (AngleFormula, f64),
) -> Tensor<D> {
    let (angle, aperture) = match form {
        AngleFormula::Stable => (
            exterior_angle(x.clone(), y, c.clone()),
            half_aperture_eps(x, c, eps),
        ),
        AngleFormula::Literal(eps) => (
            literal_angle(x.clone(), y, c.clone(), eps),
            literal_aperture(x, c, eps),
        ),
    };
    clamp_min(angle - aperture * eta, 0.0)
}
