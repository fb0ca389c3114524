//! Angles relative to a root: unit vectors and one distinguished point (notation 1.4, 1.5).
//!
//! The root is any point of the same space: the embedding of the empty text or of `Eukarya`, or
//! zero. With zero the angle is the Euclidean exterior angle of entailment cones.

use burn::tensor::Tensor;

use super::angle::{Pairs, UNRESOLVED, from_legs};
use super::constants::{CONE_RADIUS, EPS};
use crate::math::{asin_clamped, clamp_min, dot, norm};

/// Vectors up to this length have no direction.
const SHORT: f64 = 1e-6;

/// Returns unit vectors; vectors without a direction become zero with gradient zero.
fn direction<const D: usize>(v: Tensor<D>) -> Tensor<D> {
    let n = norm(v.clone());
    let short = n.clone().lower_equal_scalar(SHORT);
    let v = v.clone().mask_fill(short.clone().expand(v.dims()), 0.0);
    v / n.mask_fill(short, 1.0)
}

/// Returns the cosine of [`exterior_angle`], in `[-1, 1]`; 0 where the angle is undefined.
///
/// # Shapes
/// `e, f [.., d]`, `root` broadcast against them `-> [.., 1]`
#[must_use]
pub fn exterior_cosine<const D: usize>(e: Tensor<D>, f: Tensor<D>, root: Tensor<D>) -> Tensor<D> {
    dot(direction(e.clone() - root), direction(f - e))
}

/// Returns the exterior angle `Xi_r(e, f)` at the apex `e` (general) toward `f` (specific): the
/// angle between `e - r` and `f - e`, in `[0, pi]`.
///
/// Computed as `2 atan2(|a - b|, |a + b|)` of their unit vectors `a` and `b`. This is exact at both
/// ends, where `acos` has an infinite derivative. If a vector has no direction (`e = r` or `f = e`)
/// the angle is `pi / 2` with gradient zero.
///
/// # Shapes
/// `e, f [.., d]`, `root` broadcast against them `-> [.., 1]`
#[must_use]
pub fn exterior_angle<const D: usize>(e: Tensor<D>, f: Tensor<D>, root: Tensor<D>) -> Tensor<D> {
    angle(e.clone() - root, f - e)
}

/// Returns the angle between two vectors, in `[0, pi]`, computed as in [`exterior_angle`].
///
/// # Shapes
/// `a, b [.., d] -> [.., 1]`
#[must_use]
pub fn angle<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
    let (a, b) = (direction(a), direction(b));
    let (apart, together) = (norm(a.clone() - b.clone()), norm(a + b));
    // Both lengths are zero only where neither vector has a direction.
    let none = (apart.clone() + together.clone()).lower_equal_scalar(SHORT);
    let apart = apart.mask_fill(none.clone(), 1.0);
    apart.atan2(together.mask_fill(none, 1.0)) * 2.0
}

/// Returns the half-aperture of the cone at `e`, in `(0, pi/2)`: `asin(min(1, 0.05 / |e - r|))`.
///
/// # Shapes
/// `e [.., d]`, `root` broadcast against it `-> [.., 1]`
#[must_use]
pub fn half_aperture<const D: usize>(e: Tensor<D>, root: Tensor<D>) -> Tensor<D> {
    asin_clamped(clamp_min(norm(e - root), EPS).recip() * CONE_RADIUS, EPS)
}

/// Returns the exterior angles about zero of all pairs, one row per apex: the Euclidean angle of
/// Ganea's cones.
///
/// It uses one matrix product, like [`cone::pairwise_exterior_angle`](super::cone), and has the
/// same resolution.
///
/// # Shapes
/// `x [.., b1, d]`, `y [.., b2, d] -> [.., b1, b2]`
#[must_use]
pub fn pairwise_exterior_angle<const D: usize>(x: Tensor<D>, y: Tensor<D>) -> Tensor<D> {
    let Pairs {
        nx,
        ny,
        short,
        across,
    } = Pairs::of(x, y);
    // <y, u> - |x|, the part of y - x along x.
    let forward = (ny.clone() - nx) - ny * short;
    from_legs(across, forward, None, UNRESOLVED)
}
