//! The exponential function, and the softmax of rows.

use pulp::{Arch, Simd, WithSimd};

/// Smallest and largest argument; outside, the result would not be a normal number.
const LIMITS: [f32; 2] = [-87.3, 88.7];
/// `ln 2` in two parts. The first has few bits, so that its multiples are exact.
const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
/// A number this large has no fraction bits, so adding it rounds to an integer, which is then found
/// in the lowest bits.
const ROUND: f32 = 12_582_912.0;
/// Coefficients of the Taylor series from `1 / 7!` to 1.
const SERIES: [f32; 8] = [
    1.0 / 5040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Computes `e^x` with a relative error below 1e-6. The argument is clamped to [-87.3, 88.7]; NaN
/// stays NaN.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let [low, high] = LIMITS.map(|limit| simd.splat_f32s(limit));
    let x = simd.select_f32s(simd.less_than_f32s(x, low), low, x);
    let x = simd.select_f32s(simd.greater_than_f32s(x, high), high, x);
    let round = simd.splat_f32s(ROUND);
    let shifted = simd.mul_add_e_f32s(x, simd.splat_f32s(std::f32::consts::LOG2_E), round);
    let power = simd.sub_f32s(shifted, round);
    // x = power ln 2 + rest, with |rest| <= ln 2 / 2.
    let rest = simd.mul_add_e_f32s(power, simd.splat_f32s(-LN_2[0]), x);
    let rest = simd.mul_add_e_f32s(power, simd.splat_f32s(-LN_2[1]), rest);
    let mut sum = simd.splat_f32s(SERIES[0]);
    for coefficient in &SERIES[1..] {
        sum = simd.mul_add_e_f32s(sum, rest, simd.splat_f32s(*coefficient));
    }
    // Adds `power` to the exponent: its lowest bits, moved to the place of the exponent.
    let exponent = simd.mul_u32s(
        simd.transmute_u32s_f32s(shifted),
        simd.splat_u32s(1 << (f32::MANTISSA_DIGITS - 1)),
    );
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(sum), exponent))
}

/// Replaces each row of `width` values by its softmax. With `lengths`, only the first values of a
/// row take part and the others become 0; every length is at least 1 and at most `width`.
pub(crate) fn softmax_rows(values: &mut [f32], width: usize, lengths: Option<&[usize]>) {
    if width > 0 {
        Arch::new().dispatch(SoftmaxRows {
            values,
            width,
            lengths,
        });
    }
}

/// The arguments of [`softmax_rows`].
struct SoftmaxRows<'a> {
    values: &'a mut [f32],
    width: usize,
    lengths: Option<&'a [usize]>,
}

impl WithSimd for SoftmaxRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (index, row) in self.values.chunks_exact_mut(self.width).enumerate() {
            let length = self.lengths.and_then(|lengths| lengths.get(index));
            let (row, hidden) = row.split_at_mut(length.map_or(self.width, |n| *n));
            hidden.fill(0.0);
            softmax(simd, row);
        }
    }
}

#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32]) {
    let (vectors, rest) = S::as_mut_simd_f32s(row);
    let mut largest = simd.splat_f32s(f32::NEG_INFINITY);
    for x in vectors.iter() {
        largest = simd.max_f32s(largest, *x);
    }
    let largest = simd.reduce_max_f32s(largest);
    let largest = simd.splat_f32s(rest.iter().copied().fold(largest, f32::max));
    let mut sums = simd.splat_f32s(0.0);
    for x in vectors.iter_mut() {
        *x = exp(simd, simd.sub_f32s(*x, largest));
        sums = simd.add_f32s(sums, *x);
    }
    if !rest.is_empty() {
        let x = simd.partial_load_f32s(rest);
        simd.partial_store_f32s(rest, exp(simd, simd.sub_f32s(x, largest)));
    }
    let sum = simd.reduce_sum_f32s(sums) + rest.iter().sum::<f32>();
    let scale = 1.0 / sum;
    rest.iter_mut().for_each(|x| *x *= scale);
    let scale = simd.splat_f32s(scale);
    for x in vectors {
        *x = simd.mul_f32s(*x, scale);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exponentials_are_those_of_the_standard_library(x in -87.0_f32..88.0) {
            let found = f64::from(exp(pulp::Scalar, x));
            let expected = f64::from(x).exp();
            prop_assert!((found / expected - 1.0).abs() < 1e-6, "{x}: {found} {expected}");
        }

        #[test]
        fn softmax_is_that_of_a_plain_loop(
            rows in 0_usize..4,
            width in 1_usize..40,
            seed in 0_u32..1000,
            causal: bool,
        ) {
            let value = |i: usize| ((i as u32 * 7919 + seed) % 2003) as f32 / 100.0 - 10.0;
            let mut values: Vec<f32> = (0..rows * width).map(value).collect();
            let lengths: Vec<usize> = (0..rows).map(|row| (row % width) + 1).collect();
            let expected: Vec<f64> = values
                .chunks(width)
                .zip(&lengths)
                .flat_map(|(row, length)| {
                    let length = if causal { *length } else { width };
                    let powers = row.iter().map(|x| f64::from(*x).exp());
                    let sum: f64 = powers.clone().take(length).sum();
                    let share = move |(i, p)| if i < length { p / sum } else { 0.0 };
                    powers.enumerate().map(share).collect::<Vec<_>>()
                })
                .collect();
            softmax_rows(&mut values, width, causal.then_some(&lengths[..]));
            for (found, expected) in values.iter().zip(expected) {
                prop_assert!((f64::from(*found) - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn extreme_arguments_stay_finite_and_nan_spreads() {
        assert!(exp(pulp::Scalar, f32::NEG_INFINITY) < 1e-37);
        assert!(exp(pulp::Scalar, f32::INFINITY).is_finite());
        assert!(exp(pulp::Scalar, f32::NAN).is_nan());
        let mut row = [1.0, f32::NAN, 2.0];
        softmax_rows(&mut row, 3, None);
        assert!(row.iter().all(|x| x.is_nan()));
    }
}
