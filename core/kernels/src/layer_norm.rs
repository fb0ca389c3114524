//! Layer norm of rows.

use pulp::{Arch, Simd, WithSimd};

/// Scale, shift and `eps` of a layer norm.
#[derive(Clone, Debug)]
pub struct RowNorm {
    gamma: Vec<f32>,
    beta: Vec<f32>,
    eps: f32,
}

impl RowNorm {
    /// Builds it from one scale and one shift for each value of a row.
    #[must_use]
    pub fn new(gamma: Vec<f32>, beta: Vec<f32>, eps: f32) -> Self {
        Self { gamma, beta, eps }
    }

    /// Computes `(x - mean) / sqrt(variance + eps) * gamma + beta` of each row.
    ///
    /// # Shapes
    /// `[n, width] -> [n, width]`, with `width` the length of `gamma`
    #[must_use]
    pub fn apply(&self, input: &[f32]) -> Vec<f32> {
        let mut output = input.to_vec();
        if !self.gamma.is_empty() {
            Arch::new().dispatch(NormRows {
                norm: self,
                rows: &mut output,
            });
        }
        output
    }
}

/// The arguments of [`RowNorm::apply`].
struct NormRows<'a> {
    norm: &'a RowNorm,
    rows: &'a mut [f32],
}

impl WithSimd for NormRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let RowNorm { gamma, beta, eps } = self.norm;
        let width = gamma.len();
        for row in self.rows.chunks_exact_mut(width) {
            let mean = sum(simd, row, |x| x) / width as f32;
            // Centred first, because the last vector is padded with zeros, which are no deviations.
            row.iter_mut().for_each(|x| *x -= mean);
            let variance = sum(simd, row, |x| simd.mul_f32s(x, x)) / width as f32;
            let scale = 1.0 / (variance + eps).sqrt();
            for ((x, gamma), beta) in row.iter_mut().zip(gamma).zip(beta) {
                *x = *x * scale * gamma + beta;
            }
        }
    }
}

/// Sums a function of all values; the last vector is padded with zeros.
#[inline(always)]
fn sum<S: Simd>(simd: S, row: &[f32], of: impl Fn(S::f32s) -> S::f32s) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(row);
    let mut sum = simd.splat_f32s(0.0);
    for x in vectors {
        sum = simd.add_f32s(sum, of(*x));
    }
    if !rest.is_empty() {
        sum = simd.add_f32s(sum, of(simd.partial_load_f32s(rest)));
    }
    simd.reduce_sum_f32s(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn norms_are_those_of_a_plain_loop(rows in 0_usize..4, width in 1_usize..40, shift in -3.0_f32..3.0) {
            let value = |i: usize| ((i * 7919 + 13) % 2003) as f32 / 1001.0 + shift;
            let input: Vec<f32> = (0..rows * width).map(value).collect();
            let gamma: Vec<f32> = (0..width).map(|i| value(i + 3)).collect();
            let beta: Vec<f32> = (0..width).map(|i| value(i + 7)).collect();
            let found = RowNorm::new(gamma.clone(), beta.clone(), 1e-5).apply(&input);
            for (row, found) in input.chunks(width).zip(found.chunks(width)) {
                let n = width as f64;
                let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
                let square = |x: &f32| (f64::from(*x) - mean).powi(2);
                let scale = (row.iter().map(square).sum::<f64>() / n + 1e-5).sqrt();
                for (i, (x, found)) in row.iter().zip(found).enumerate() {
                    let expected = (f64::from(*x) - mean) / scale * f64::from(gamma[i]) + f64::from(beta[i]);
                    prop_assert!((f64::from(*found) - expected).abs() < 2e-4, "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn nan_spreads_to_its_row_only_and_no_row_is_needed() {
        let norm = RowNorm::new(vec![1.0; 2], vec![0.0; 2], 1e-5);
        let found = norm.apply(&[f32::NAN, 1.0, 1.0, -1.0]);
        assert!(found[..2].iter().all(|x| x.is_nan()));
        assert!(found[2..].iter().all(|x| x.is_finite()));
        assert!(norm.apply(&[]).is_empty());
        assert!(RowNorm::new(vec![], vec![], 1e-5).apply(&[]).is_empty());
    }
}
