//! A product of Lorentz factors, each with its own curvature (notation 1.6).
//!
//! Points of a product have the shape `[k, b, d]`: `k` factors of `d` coordinates. Curvatures have
//! the shape `[k, 1, 1]`, so that the functions of [`lorentz`] and [`cone`](super::cone) act on all
//! factors at once.

use burn::tensor::Tensor;

use super::lorentz;
use super::space::DistanceReduction;

/// `eps` of PHyCLIP's distances and apertures (notation 2.4).
pub const EPS: f64 = 1e-6;

/// Splits features into factors of consecutive coordinates.
///
/// # Shapes
/// `[b, k d] -> [k, b, d]`
#[must_use]
pub fn split(features: Tensor<2>, factors: usize) -> Tensor<3> {
    let [b, width] = features.dims();
    features
        .reshape([b, factors, width / factors])
        .swap_dims(0, 1)
}

/// Concatenates the factors, the inverse of [`split`].
///
/// # Shapes
/// `[k, b, d] -> [b, k d]`
#[must_use]
pub fn flatten(points: Tensor<3>) -> Tensor<2> {
    let [k, b, d] = points.dims();
    points.swap_dims(0, 1).reshape([b, k * d])
}

/// Returns the training distances of all pairs.
///
/// # Shapes
/// `x [k, b1, d]`, `y [k, b2, d]`, `c [k, 1, 1] -> [b1, b2]`
#[must_use]
pub fn pairwise_dist(
    x: Tensor<3>,
    y: Tensor<3>,
    c: Tensor<3>,
    join: DistanceReduction,
) -> Tensor<2> {
    let each = lorentz::pairwise_dist_eps(x, y, c, EPS);
    match join {
        DistanceReduction::L1 => each.mean_dim(0).squeeze_dim(0),
        // Each distance is at least acosh(1 + eps) / sqrt(c), so the root has a finite derivative.
        DistanceReduction::L2 => (each.clone() * each).mean_dim(0).sqrt().squeeze_dim(0),
    }
}

/// Returns the published evaluation scores of all pairs: the sum over the factors of the Lorentzian
/// inner products. It is not a monotone function of the training distance.
///
/// # Shapes
/// `x [k, b1, d]`, `y [k, b2, d]`, `c [k, 1, 1] -> [b1, b2]`
#[must_use]
pub fn pairwise_inner(x: Tensor<3>, y: Tensor<3>, c: Tensor<3>) -> Tensor<2> {
    lorentz::pairwise_inner(x, y, c).sum_dim(0).squeeze_dim(0)
}
