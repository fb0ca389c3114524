//! The Lorentz (hyperboloid) model in numerically stable form (notation 1.1, 1.3).

use burn::tensor::Tensor;

use super::constants::{EPS, MAX_TANGENT};
use crate::math::{acosh_1p, asinh_pos, clamp_max, clamp_min, dot, norm};

/// Returns the time part of a point: `x0 = sqrt(1/c + |x|^2)`.
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn time<const D: usize>(x: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    (c.recip() + dot(x.clone(), x)).sqrt()
}

/// Returns the exponential map at the origin: maps a tangent vector to a point at distance `|v|`.
///
/// `r = sqrt(c) |v|`, `exp0(v) = sinh(clamp(r, eps, asinh(2^15))) v / max(r, eps)`.
///
/// # Shapes
/// `v [.., d]`, `c [.., 1] -> [.., d]`
#[must_use]
pub fn exp_map0<const D: usize>(v: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    // Direction and length are computed separately: a single quotient would lose the direction of
    // very long vectors.
    let length = clamp_min(norm(v.clone()), EPS);
    let direction = v / length.clone();
    let root_c = c.sqrt();
    let r = clamp_max(length * root_c.clone(), MAX_TANGENT);
    direction * (r.sinh() / root_c)
}

/// Returns the logarithmic map at the origin, the inverse of [`exp_map0`] below its clamp.
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., d]`
#[must_use]
pub fn log_map0<const D: usize>(x: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let t = clamp_min(norm(x.clone()) * c.sqrt(), EPS);
    x * (asinh_pos(t.clone()) / t)
}

/// Returns the distance to the origin, `asinh(sqrt(c) |x|) / sqrt(c)`.
///
/// # Shapes
/// `x [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn dist0<const D: usize>(x: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let root_c = c.sqrt();
    asinh_pos(norm(x) * root_c.clone()) / root_c
}

/// Returns the Lorentzian inner product row by row, `<x, y> - x0 y0`, at most `-1/c`.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn inner<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let times = time(x.clone(), c.clone()) * time(y.clone(), c);
    dot(x, y) - times
}

/// Computes `z = -c L(x, y) - 1 >= 0` row by row, without cancellation.
///
/// `2 z / c = |x - y|^2 - (x0 - y0)^2` with `x0 - y0 = (|x|^2 - |y|^2) / (x0 + y0)`.
fn excess<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let diff = x.clone() - y.clone();
    let times = time(x.clone(), c.clone()) + time(y.clone(), c.clone());
    let dt = dot(diff.clone(), x + y) / times;
    (dot(diff.clone(), diff) - dt.clone() * dt) * c * 0.5
}

/// Returns the geodesic distance row by row, `acosh(max(-c L(x, y), 1 + eps)) / sqrt(c)`.
///
/// The distance from a point to itself is `acosh(1 + eps) / sqrt(c)`, 1.4e-4 at `c = 1`, with
/// gradient zero.
///
/// # Shapes
/// `x, y [.., d]`, `c [.., 1] -> [.., 1]`
#[must_use]
pub fn dist<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    acosh_1p(excess(x, y, c.clone()), EPS) / c.sqrt()
}

/// Returns the Einstein midpoint of the rows: the point of the hyperboloid in the direction of the
/// sum of the points (notation 1.2).
///
/// # Shapes
/// `x [b, d]`, `c [1, 1] -> [1, d]`
#[must_use]
pub fn einstein_midpoint(x: Tensor<2>, c: Tensor<2>) -> Tensor<2> {
    let [b, _] = x.dims();
    let sum = x.clone().sum_dim(0);
    let times = time(x, c.clone()).sum_dim(0);
    // Squared Lorentzian norm of the sum: `b^2 / c` if all points are equal, larger otherwise.
    let square = times.clone() * times - dot(sum.clone(), sum.clone());
    let least = c.clone().recip() * (b * b) as f64;
    let square = least.clone() + clamp_min(square - least, 0.0);
    sum / (square * c).sqrt()
}

/// Returns the Lorentzian inner products of all pairs.
///
/// # Shapes
/// `x [.., b1, d]`, `y [.., b2, d]`, `c [.., 1, 1] -> [.., b1, b2]`
#[must_use]
pub fn pairwise_inner<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    let tx = time(x.clone(), c.clone());
    let ty = time(y.clone(), c);
    x.matmul(y.transpose()) - tx.matmul(ty.transpose())
}

/// Returns the geodesic distances of all pairs.
///
/// `|x - y|^2` comes from one matrix product, so in `f32` distances below about 5e-4 are not
/// resolved as in [`dist`]. The difference of the time parts is exact.
///
/// # Shapes
/// `x [.., b1, d]`, `y [.., b2, d]`, `c [.., 1, 1] -> [.., b1, b2]`
#[must_use]
pub fn pairwise_dist<const D: usize>(x: Tensor<D>, y: Tensor<D>, c: Tensor<D>) -> Tensor<D> {
    pairwise_dist_eps(x, y, c, EPS)
}

/// [`pairwise_dist`] with another `eps` (published PHyCLIP training: 1e-6).
///
/// # Shapes
/// `x [.., b1, d]`, `y [.., b2, d]`, `c [.., 1, 1] -> [.., b1, b2]`
#[must_use]
pub fn pairwise_dist_eps<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    c: Tensor<D>,
    eps: f64,
) -> Tensor<D> {
    let sx = dot(x.clone(), x.clone()); // [.., b1, 1]
    let sy = dot(y.clone(), y.clone()).transpose(); // [.., 1, b2]
    let tx = (c.clone().recip() + sx.clone()).sqrt();
    let ty = (c.clone().recip() + sy.clone()).sqrt();
    let square = sx.clone() + sy.clone() - x.matmul(y.transpose()) * 2.0;
    let dt = (sx - sy) / (tx + ty);
    let z = (square - dt.clone() * dt) * c.clone() * 0.5;
    acosh_1p(z, eps) / c.sqrt()
}
