//! Angles from two legs, and the cosines of all pairs; shared by cones and radial angles.

use std::f64::consts::FRAC_PI_2;

use burn::tensor::Tensor;

use super::constants::EPS;
use crate::math::{clamp_max, clamp_min, norm};

/// Smaller values of `sin^2` are rounding errors of a matrix product of unit vectors in `f32`.
const NOISE: f64 = 3e-7;

/// Squared length of the legs up to which angles from a matrix product are undefined.
pub(super) const UNRESOLVED: f64 = 1e-6;

/// Returns `atan2(across, forward)`; a right angle with gradient zero where the squared length of
/// the legs (times `unit`, if given) is at most `least`.
pub(super) fn from_legs<const D: usize>(
    across: Tensor<D>,
    forward: Tensor<D>,
    unit: Option<Tensor<D>>,
    least: f64,
) -> Tensor<D> {
    let square = across.clone() * across.clone() + forward.clone() * forward.clone();
    let reach = match unit {
        Some(unit) => square * unit,
        None => square,
    };
    let undefined = reach.lower_equal_scalar(least);
    let angle = across
        .mask_fill(undefined.clone(), 1.0)
        .atan2(forward.mask_fill(undefined.clone(), 0.0));
    angle.mask_fill(undefined, FRAC_PI_2)
}

/// Norms and relative positions of all pairs of a row of `x` and a row of `y`.
pub(super) struct Pairs<const D: usize> {
    /// `|x|`, `[.., b1, 1]`.
    pub(super) nx: Tensor<D>,
    /// `|y|`, `[.., 1, b2]`.
    pub(super) ny: Tensor<D>,
    /// `1 - cos`, `[.., b1, b2]`.
    pub(super) short: Tensor<D>,
    /// Length of the component of `y` orthogonal to `x`, `[.., b1, b2]`; gradient zero where it is
    /// rounding error.
    pub(super) across: Tensor<D>,
}

impl<const D: usize> Pairs<D> {
    pub(super) fn of(x: Tensor<D>, y: Tensor<D>) -> Self {
        let (nx, ny) = (norm(x.clone()), norm(y.clone()));
        let u = x / clamp_min(nx.clone(), EPS);
        let v = y / clamp_min(ny.clone(), EPS);
        let ny = ny.transpose();
        let cosine = clamp_max(clamp_min(u.matmul(v.transpose()), -1.0), 1.0);
        let short = cosine.clone().neg() + 1.0;
        let square = clamp_min(short.clone() * (cosine + 1.0), NOISE);
        Self {
            across: ny.clone() * square.sqrt(),
            nx,
            ny,
            short,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};

    use burn::tensor::Device;

    use super::*;

    fn angle(across: f32, forward: f32, unit: Option<f32>, least: f64) -> f32 {
        let number = |v: f32| Tensor::<1>::from_data([v], &Device::flex());
        from_legs(number(across), number(forward), unit.map(number), least).into_scalar()
    }

    #[test]
    fn short_legs_have_a_right_angle() {
        let near = |found: f32, expected: f32| assert!((found - expected).abs() < 1e-6, "{found}");
        near(angle(0.5, 0.5, None, 0.4), FRAC_PI_4);
        near(angle(0.5, 0.5, None, 0.5), FRAC_PI_2);
        // In another unit, the legs are longer or shorter.
        near(angle(0.5, 0.5, Some(4.0), 0.6), FRAC_PI_4);
        near(angle(0.5, 0.5, Some(0.25), 0.4), FRAC_PI_2);
        near(angle(0.0, 0.0, None, 0.0), FRAC_PI_2);
        near(angle(0.5, -0.5, None, 0.1), 3.0 * FRAC_PI_4);
    }
}
