//! GELU, `x Phi(x)` with the distribution function `Phi` of the standard normal distribution.

use pulp::{Arch, Simd, WithSimd};

use super::pieces::{self, Start};
use crate::gelu::{Gelu, normal};
use crate::vectors;

/// Computes the function of every value.
#[must_use]
pub fn forward(x: &[f32]) -> Vec<f32> {
    let work = |_, values: &mut [f32]| Gelu::Exact.apply(values);
    pieces::compute(Start::Copy(x), pieces::MIN_VALUES, work).0
}

/// Computes the gradient of the input from that of the output.
///
/// # Shapes
/// `x [n]`, `grad [n] -> [n]`
#[must_use]
pub fn backward(x: &[f32], grad: &[f32]) -> Vec<f32> {
    let size = pieces::MIN_VALUES;
    let (output, _) = pieces::compute(Start::Copy(grad), size, |index, values| {
        let from = index * size;
        let x = &x[from..from + values.len()];
        Arch::new().dispatch(Backward { x, values });
    });
    output
}

/// The arguments of a piece of [`backward`]; `values` holds the gradient of the output.
struct Backward<'a> {
    x: &'a [f32],
    values: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (grads, last) = S::as_mut_simd_f32s(self.values);
        let (xs, last_x) = S::as_simd_f32s(self.x);
        for (x, grad) in xs.iter().zip(grads) {
            *grad = slope(simd, *x, *grad);
        }
        if !last.is_empty() {
            let [[x], [grad]] = [last_x, last].map(|values| vectors::load(simd, values));
            vectors::store(simd, last, [slope(simd, x, grad)]);
        }
    }
}

/// Computes the gradient of the input. A function, not a closure: only what is inlined into the
/// caller is compiled for its instruction set.
#[inline(always)]
fn slope<S: Simd>(simd: S, x: S::f32s, grad: S::f32s) -> S::f32s {
    let (phi, density) = normal(simd, x);
    simd.mul_f32s(grad, simd.mul_add_e_f32s(x, density, phi))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Phi(x)` by the integral of the density from 0 with Simpson's rule.
    fn phi(x: f64) -> f64 {
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let steps = 2000;
        let width = x / f64::from(steps);
        let weight = |i| match i {
            0 => 1.0,
            _ if i == steps => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let value = |i| weight(i) * density(f64::from(i) * width);
        0.5 + (0..=steps).map(value).sum::<f64>() * width / 3.0
    }

    #[test]
    fn values_and_gradients_are_those_of_the_integral() {
        let xs: Vec<f32> = (-90..=90).map(|i| i as f32 * 0.06).collect();
        let grad: Vec<f32> = xs.iter().map(|x| 1.0 + x.abs()).collect();
        let (found, slopes) = (forward(&xs), backward(&xs, &grad));
        for (i, x) in xs.iter().map(|x| f64::from(*x)).enumerate() {
            let expected = x * phi(x);
            assert!((f64::from(found[i]) - expected).abs() < 1e-6, "{x}");
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let expected = f64::from(grad[i]) * (phi(x) + x * density);
            assert!((f64::from(slopes[i]) - expected).abs() < 3e-6, "{x}");
        }
    }

    #[test]
    fn values_far_from_zero_keep_their_relative_precision() {
        // x Phi(x) from the asymptotic series of the error function.
        for (x, expected) in [(-5.0, -1.433_257_9e-6), (-8.0, -4.976_768_6e-15)] {
            let found = f64::from(forward(&[x])[0]);
            assert!((found / expected - 1.0).abs() < 2e-5, "{x}: {found}");
        }
        let [low, high] = [-40.0, 40.0].map(|x| forward(&[x])[0]);
        assert!(low.abs() < 1e-37 && high == 40.0, "{low} {high}");
    }

    #[test]
    fn nan_stays_and_pieces_agree_with_the_whole() {
        assert!(forward(&[f32::NAN])[0].is_nan());
        assert!(backward(&[f32::NAN], &[1.0])[0].is_nan());
        assert!(forward(&[]).is_empty());
        let xs: Vec<f32> = (0..40_000).map(|i| (i as f32 * 0.01).sin() * 4.0).collect();
        let (all, slopes) = (forward(&xs), backward(&xs, &xs));
        for at in [0, 1, 16_383, 16_384, 39_999] {
            assert!((all[at] - forward(&xs[at..=at])[0]).abs() < 1e-6);
            let one = backward(&xs[at..=at], &xs[at..=at])[0];
            assert!((slopes[at] - one).abs() < 1e-5);
        }
    }
}
