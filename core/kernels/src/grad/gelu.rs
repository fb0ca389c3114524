//! Gradients of the non-linearities of transformers.

use pulp::{Arch, Simd, WithSimd};

use crate::exponential::exp;
use crate::gelu::{Gelu, QUICK, normal};
use crate::vectors;

impl Gelu {
    /// Computes the function of every value of `x` into `output`, and replaces its gradients in `grads` by
    /// those of `x`. All have the same length.
    pub(super) fn backward(self, x: &[f32], grads: &mut [f32], output: &mut [f32]) {
        Arch::new().dispatch(Backward {
            gelu: self,
            x,
            grads,
            output,
        });
    }
}

/// The arguments of [`Gelu::backward`].
struct Backward<'a> {
    gelu: Gelu,
    x: &'a [f32],
    grads: &'a mut [f32],
    output: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let gelu = self.gelu;
        let (xs, last_x) = S::as_simd_f32s(self.x);
        let (grads, last_grads) = S::as_mut_simd_f32s(self.grads);
        let (outputs, last_outputs) = S::as_mut_simd_f32s(self.output);
        for ((x, grad), output) in xs.iter().zip(grads).zip(outputs) {
            let (value, slope) = value_and_slope(gelu, simd, *x);
            *grad = simd.mul_f32s(*grad, slope);
            *output = value;
        }
        if !last_x.is_empty() {
            let [x] = vectors::load(simd, last_x);
            let [grad] = vectors::load(simd, last_grads);
            let (value, slope) = value_and_slope(gelu, simd, x);
            vectors::store(simd, last_grads, [simd.mul_f32s(grad, slope)]);
            vectors::store(simd, last_outputs, [value]);
        }
    }
}

/// Computes the function and its derivative. A function, not a closure: only what is inlined into
/// the caller is compiled for its instruction set.
#[inline(always)]
fn value_and_slope<S: Simd>(gelu: Gelu, simd: S, x: S::f32s) -> (S::f32s, S::f32s) {
    match gelu {
        Gelu::Exact => {
            let (phi, density) = normal(simd, x);
            let slope = simd.mul_add_e_f32s(x, density, phi);
            (simd.mul_f32s(x, phi), slope)
        }
        Gelu::Quick => {
            let one = simd.splat_f32s(1.0);
            let power = exp(simd, simd.mul_f32s(x, simd.splat_f32s(-QUICK)));
            let share = simd.div_f32s(one, simd.add_f32s(one, power));
            let value = simd.mul_f32s(x, share);
            // With the sigmoid s: s + 1.702 x s (1 - s).
            let steepness = simd.mul_f32s(value, simd.splat_f32s(QUICK));
            let slope = simd.mul_add_e_f32s(steepness, simd.sub_f32s(one, share), share);
            (value, slope)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(gelu: Gelu, x: &[f32], grad: &[f32]) -> [Vec<f32>; 2] {
        let (mut grads, mut output) = (grad.to_vec(), vec![0.0; x.len()]);
        gelu.backward(x, &mut grads, &mut output);
        [output, grads]
    }

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

    fn expected(gelu: Gelu, x: f64) -> [f64; 2] {
        match gelu {
            Gelu::Exact => {
                let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
                [x * phi(x), phi(x) + x * density]
            }
            Gelu::Quick => {
                let share = 1.0 / (1.0 + (-1.702 * x).exp());
                [x * share, share + 1.702 * x * share * (1.0 - share)]
            }
        }
    }

    #[test]
    fn values_and_gradients_are_those_of_the_formulas() {
        let xs: Vec<f32> = (-90..=90).map(|i| i as f32 * 0.06).collect();
        let grad: Vec<f32> = xs.iter().map(|x| 1.0 + x.abs()).collect();
        for gelu in [Gelu::Exact, Gelu::Quick] {
            let [output, slopes] = found(gelu, &xs, &grad);
            for (i, x) in xs.iter().map(|x| f64::from(*x)).enumerate() {
                let [value, slope] = expected(gelu, x);
                assert!((f64::from(output[i]) - value).abs() < 2e-6, "{gelu:?} {x}");
                let slope = f64::from(grad[i]) * slope;
                assert!((f64::from(slopes[i]) - slope).abs() < 5e-6, "{gelu:?} {x}");
            }
        }
    }

    #[test]
    fn nan_stays_and_far_values_are_finite() {
        for gelu in [Gelu::Exact, Gelu::Quick] {
            let [output, slopes] = found(gelu, &[f32::NAN, -300.0, 300.0], &[1.0; 3]);
            assert!(output[0].is_nan() && slopes[0].is_nan());
            assert_eq!([output[2], slopes[2]], [300.0, 1.0]);
            assert!(output[1].abs() < 1e-30 && slopes[1].abs() < 1e-30);
            assert!(found(gelu, &[], &[])[0].is_empty());
        }
    }
}
