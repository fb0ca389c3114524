//! The non-linearities of transformers.

use pulp::{Arch, Simd, WithSimd};

use crate::exponential::exp;

/// `1 / sqrt(2)`.
const SQRT_HALF: f32 = std::f32::consts::FRAC_1_SQRT_2;
/// Coefficients of the error function; its absolute error is below 1.5e-7 (Abramowitz and Stegun
/// 1964, 7.1.26).
const ERF_SCALE: f32 = 0.327_591_1;
const ERF: [f32; 5] = [
    0.254_829_6,
    -0.284_496_72,
    1.421_413_8,
    -1.453_152_1,
    1.061_405_4,
];

/// Non-linearity between the feed-forward layers of a transformer block. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gelu {
    /// `x Phi(x)`, with an error below 1e-6.
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
            Self::Exact => simd.mul_f32s(x, normal_cdf(simd, x)),
            Self::Quick => {
                let one = simd.splat_f32s(1.0);
                let power = exp(simd, simd.mul_f32s(x, simd.splat_f32s(-1.702)));
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
            let x = simd.partial_load_f32s(rest);
            simd.partial_store_f32s(rest, self.gelu.of(simd, x));
        }
    }
}

/// Computes `Phi(x)`, the distribution function of the standard normal distribution.
#[inline(always)]
fn normal_cdf<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let (half, one) = (simd.splat_f32s(0.5), simd.splat_f32s(1.0));
    let z = simd.mul_f32s(simd.abs_f32s(x), simd.splat_f32s(SQRT_HALF));
    let t = simd.div_f32s(one, simd.mul_add_e_f32s(z, simd.splat_f32s(ERF_SCALE), one));
    let mut sum = simd.splat_f32s(ERF[4]);
    for coefficient in ERF[..4].iter().rev() {
        sum = simd.mul_add_e_f32s(sum, t, simd.splat_f32s(*coefficient));
    }
    let power = exp(simd, simd.neg_f32s(simd.mul_f32s(z, z)));
    let tail = simd.mul_f32s(simd.mul_f32s(half, simd.mul_f32s(sum, t)), power);
    let is_negative = simd.less_than_f32s(x, simd.splat_f32s(0.0));
    simd.select_f32s(is_negative, tail, simd.sub_f32s(one, tail))
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
