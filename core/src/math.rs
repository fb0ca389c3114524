//! Elementary functions with finite values and finite gradients for every finite `f32` input.
//!
//! Hyperbolic formulas divide by norms and evaluate `acosh`, `asin` and square roots at the edge of
//! their domains. A plain clamp is not enough: if the input equals the bound, a framework may pass
//! the gradient through and multiply infinity by zero. Here a clamp has gradient zero wherever it
//! is active, *including inputs equal to the bound* (notation 1.3, traps 30 to 32).

use burn::tensor::Tensor;

/// Smallest scale that [`norm`] divides by; its reciprocal is finite in `f32`.
const TINY: f64 = 1e-36;

/// Returns `max(x, lo)` with gradient zero where `x <= lo`.
#[must_use]
pub fn clamp_min<const D: usize>(x: Tensor<D>, lo: f64) -> Tensor<D> {
    let mask = x.clone().lower_equal_scalar(lo);
    x.mask_fill(mask, lo)
}

/// Returns `min(x, hi)` with gradient zero where `x >= hi`.
#[must_use]
pub fn clamp_max<const D: usize>(x: Tensor<D>, hi: f64) -> Tensor<D> {
    let mask = x.clone().greater_equal_scalar(hi);
    x.mask_fill(mask, hi)
}

/// Returns the Euclidean norm over the last dimension, which is kept with size 1.
///
/// # Shapes
/// `[.., d] -> [.., 1]`
///
/// The input is divided by its largest magnitude first, so that squares of 1e-30 do not underflow
/// and squares of 1e30 do not overflow. The norm of zero is (almost) zero, with gradient zero.
#[must_use]
pub fn norm<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    // The scale is a constant for the gradient: the derivative of m * |x / m| by m is zero.
    let scale = x.clone().inner().abs().max_dim(D - 1).clamp_min(TINY);
    let unit = x / scale.clone();
    // The largest entry of `unit` is 1 unless all entries are zero, so only then is the sum below
    // 0.25.
    let sum = clamp_min((unit.clone() * unit).sum_dim(D - 1), 0.25);
    sum.sqrt() * scale
}

/// Returns the dot product over the last dimension, which is kept with size 1.
///
/// # Shapes
/// `[.., d], [.., d] -> [.., 1]`
#[must_use]
pub fn dot<const D: usize>(x: Tensor<D>, y: Tensor<D>) -> Tensor<D> {
    (x * y).sum_dim(D - 1)
}

/// Returns `acosh(1 + z)` for `z >= 0`, exact for small `z`; gradient zero for `z <= eps`.
///
/// `acosh(1 + z) = ln(1 + (z + sqrt(z (z + 2))))` (notation 1.3).
#[must_use]
pub fn acosh_1p<const D: usize>(z: Tensor<D>, eps: f64) -> Tensor<D> {
    let z = clamp_min(z, eps);
    let root = (z.clone() * (z.clone() + 2.0)).sqrt();
    (z + root).log1p()
}

/// Returns `asinh(t)` for `t >= 0`, exact for small `t`; `t` above 1e18 is clamped, so that nothing
/// overflows.
#[must_use]
pub fn asinh_pos<const D: usize>(t: Tensor<D>) -> Tensor<D> {
    let t = clamp_max(t, 1e18);
    let root = (t.clone() * t.clone() + 1.0).sqrt();
    (t.clone() + t.clone() * (t / (root + 1.0))).log1p()
}

/// Returns `asin(clamp(s, 0, 1 - eps))` for `s >= 0`; gradient zero where the clamp acts.
///
/// The clamped value is `asin(1 - eps)` evaluated in `f64`: in `f32`, `1 - 1e-8` would be 1.
#[must_use]
pub fn asin_clamped<const D: usize>(s: Tensor<D>, eps: f64) -> Tensor<D> {
    let over = s.clone().greater_equal_scalar(1.0 - eps);
    #[expect(clippy::disallowed_methods, reason = "a constant, away from the edge")]
    let top = (1.0 - eps).asin();
    // The argument is replaced inside the mask, so that no infinite derivative occurs.
    s.mask_fill(over.clone(), 0.5).asin().mask_fill(over, top)
}

/// Returns `x / max(|x|, 1e-12)` over the last dimension (notation trap 34).
///
/// # Shapes
/// `[.., d] -> [.., d]`
#[must_use]
pub fn normalize<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let n = clamp_min(norm(x.clone()), 1e-12);
    x / n
}
