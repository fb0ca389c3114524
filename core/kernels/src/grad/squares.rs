//! The sum of squares of many values.

use pulp::Arch;

use super::pieces;

/// Number of sums that run side by side, so that they fit into vector registers.
const LANES: usize = 64;

/// Returns the sum of the squares of all values; of pieces in single precision, whose sums are added in double
/// precision.
#[must_use]
pub fn sum_of_squares(values: &[f32]) -> f32 {
    let sums = pieces::map_shared(values, pieces::MIN_VALUES, |piece| {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                let (groups, rest) = piece.as_chunks::<LANES>();
                let mut sums = [0.0; LANES];
                for group in groups {
                    for (sum, value) in sums.iter_mut().zip(group) {
                        *sum += value * value;
                    }
                }
                sums.iter().sum::<f32>() + rest.iter().map(|value| value * value).sum::<f32>()
            },
        )
    });
    sums.into_iter().map(f64::from).sum::<f64>() as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::value;

    #[test]
    fn the_sum_is_that_of_double_precision() {
        for len in [0, 1, 63, 64, 1000, 3 * pieces::MIN_VALUES + 7] {
            let values: Vec<f32> = (0..len).map(value).collect();
            let expected: f64 = values.iter().map(|x| f64::from(*x).powi(2)).sum();
            let found = f64::from(sum_of_squares(&values));
            assert!(
                (found - expected).abs() <= 1e-6 * expected,
                "{found} {expected}"
            );
        }
    }
}
