//! The non-linearities of transformers.

use pulp::{Arch, Simd, WithSimd};

use crate::exponential::exp;
use crate::vectors;

/// `1 / sqrt(2)`.
const SQRT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
/// `1 / sqrt(2 pi)`.
const DENSITY: f32 = 0.398_942_3;
/// Factor of [`Gelu::Quick`].
pub(crate) const QUICK: f32 = 1.702;
/// With `t = 1 / (1 + STEEPNESS z)`, `erfc(z) = t e^(-z^2) P(t)` for `z >= 0`, where the polynomial
/// `P` has the coefficients [`SERIES`], constant first. It interpolates at the Chebyshev nodes of
/// `t` for `z` in [0, 10]; the relative error is below 2e-7.
const STEEPNESS: f32 = 0.4;
/// Coefficients of `P`.
const SERIES: [f32; 9] = [
    0.225_621_7,
    0.226_673_26,
    0.200_125_26,
    0.200_742_54,
    0.061_465_688,
    0.115_858_614,
    0.058_450_89,
    -0.127_446_43,
    0.038_508_51,
];

/// Non-linearity between the feed-forward layers of a transformer block. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// `x Phi(x)` with the distribution function `Phi` of the standard normal distribution; the
    /// error is below 1e-6.
    Exact,
    /// `x sigmoid(1.702 x)`
    Quick,
}

impl Gelu {
    /// Applies the function to every value.
    pub fn apply(self, values: &mut [f32]) {
        Arch::new().dispatch(ApplyGelu { gelu: self, values });
    }

    #[inline(always)]
    fn of<S: Simd>(self, simd: S, x: S::f32s) -> S::f32s {
        match self {
            Self::Exact => simd.mul_f32s(x, normal(simd, x).0),
            Self::Quick => {
                let one = simd.splat_f32s(1.0);
                let power = exp(simd, simd.mul_f32s(x, simd.splat_f32s(-QUICK)));
                simd.div_f32s(x, simd.add_f32s(one, power))
            }
        }
    }
}

/// The arguments of [`Gelu::apply`].
struct ApplyGelu<'a> {
    gelu: Gelu,
    values: &'a mut [f32],
}

impl WithSimd for ApplyGelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (vectors, rest) = S::as_mut_simd_f32s(self.values);
        for x in vectors {
            *x = self.gelu.of(simd, *x);
        }
        if !rest.is_empty() {
            let [x] = vectors::load(simd, rest);
            vectors::store(simd, rest, [self.gelu.of(simd, x)]);
        }
    }
}

/// Computes the distribution function and the density of the standard normal distribution.
#[inline(always)]
pub(crate) fn normal<S: Simd>(simd: S, x: S::f32s) -> (S::f32s, S::f32s) {
    let (half, one) = (simd.splat_f32s(0.5), simd.splat_f32s(1.0));
    let z = simd.mul_f32s(simd.abs_f32s(x), simd.splat_f32s(SQRT_HALF));
    let t = simd.div_f32s(one, simd.mul_add_e_f32s(z, simd.splat_f32s(STEEPNESS), one));
    let mut sum = simd.splat_f32s(SERIES[SERIES.len() - 1]);
    for coefficient in SERIES[..SERIES.len() - 1].iter().rev() {
        sum = simd.mul_add_e_f32s(sum, t, simd.splat_f32s(*coefficient));
    }
    let square = simd.mul_f32s(x, x);
    let power = exp(simd, simd.mul_f32s(square, simd.splat_f32s(-0.5)));
    let tail = simd.mul_f32s(simd.mul_f32s(half, simd.mul_f32s(sum, t)), power);
    let is_negative = simd.less_than_f32s(x, simd.splat_f32s(0.0));
    let phi = simd.select_f32s(is_negative, tail, simd.sub_f32s(one, tail));
    (phi, simd.mul_f32s(power, simd.splat_f32s(DENSITY)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(gelu: Gelu, values: &[f32]) -> Vec<f32> {
        let mut values = values.to_vec();
        gelu.apply(&mut values);
        values
    }

    #[test]
    fn gelu_is_that_of_a_table() {
        // x and x Phi(x), from the tables of the normal distribution.
        let known = [
            (-6.0, -5.919_5e-9),
            (-3.0, -0.004_049_69),
            (-1.0, -0.158_655_26),
            (-0.5, -0.154_268_77),
            (0.0, 0.0),
            (0.5, 0.345_731_23),
            (1.0, 0.841_344_7),
            (3.0, 2.995_950_3),
            (9.0, 9.0),
        ];
        let xs: Vec<f32> = known.iter().map(|(x, _)| *x).collect();
        for (found, (x, expected)) in applied(Gelu::Exact, &xs).iter().zip(known) {
            let expected: f32 = expected;
            assert!((found - expected).abs() < 1e-6, "{x}: {found} {expected}");
        }
    }

    #[test]
    fn values_far_from_zero_keep_their_relative_precision() {
        // x Phi(x) from the asymptotic series of the error function.
        for (x, expected) in [(-5.0, -1.433_257_9e-6), (-8.0, -4.976_768_6e-15)] {
            let found = f64::from(applied(Gelu::Exact, &[x])[0]);
            assert!((found / expected - 1.0).abs() < 2e-5, "{x}: {found}");
        }
        let [low, high] = [-40.0, 40.0].map(|x| applied(Gelu::Exact, &[x])[0]);
        assert!(low.abs() < 1e-37 && high == 40.0, "{low} {high}");
    }

    #[test]
    fn quick_gelu_is_its_formula() {
        let xs: Vec<f32> = (-90..90).map(|i| i as f32 * 0.5).collect();
        for (found, x) in applied(Gelu::Quick, &xs).iter().zip(&xs) {
            let x = f64::from(*x);
            let expected = x / (1.0 + (-1.702 * x).exp());
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{x}: {found}");
        }
    }

    #[test]
    fn nan_stays_and_no_value_is_needed() {
        for gelu in [Gelu::Exact, Gelu::Quick] {
            let found = applied(gelu, &[f32::NAN; 9]);
            assert!(found.iter().all(|x| x.is_nan()));
            assert!(applied(gelu, &[]).is_empty());
        }
    }
}
