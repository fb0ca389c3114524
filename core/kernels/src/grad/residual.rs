//! A sum with a branch that is multiplied by one number.

use pulp::Arch;

use super::pieces::{self, Start};

/// Computes `x + gain branch`.
///
/// # Shapes
/// `x [n]`, `branch [n] -> [n]`
#[must_use]
pub fn forward(x: &[f32], branch: &[f32], gain: f32) -> Vec<f32> {
    let size = pieces::MIN_VALUES;
    let (output, _) = pieces::compute(Start::Copy(x), size, |index, values| {
        let branch = &branch[index * size..];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (value, branch) in values.iter_mut().zip(branch) {
                    *value += gain * branch;
                }
            },
        );
    });
    output
}

/// Computes the gradients of the branch, `[n]`, and of the gain from that of the output.
#[must_use]
pub fn backward(branch: &[f32], gain: f32, grad: &[f32]) -> (Vec<f32>, f32) {
    let size = pieces::MIN_VALUES;
    let (output, sums) = pieces::compute(Start::Copy(grad), size, |index, values| {
        let branch = &branch[index * size..];
        let mut sums = [0.0_f32; 16];
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (values, branch) in values.chunks_mut(16).zip(branch.chunks(16)) {
                    for ((value, branch), sum) in values.iter_mut().zip(branch).zip(&mut sums) {
                        *sum += *value * branch;
                        *value *= gain;
                    }
                }
            },
        );
        f64::from(sums.iter().sum::<f32>())
    });
    (output, sums.iter().sum::<f64>() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_gradients_are_those_of_the_definition() {
        let (x, branch, grad) = ([1.0, 2.0], [3.0, -4.0], [0.5, 2.0]);
        assert_eq!(forward(&x, &branch, 0.5), [2.5, 0.0]);
        assert_eq!(backward(&branch, 0.5, &grad), (vec![0.25, 1.0], -6.5));
        assert_eq!(backward(&[], 0.5, &[]), (vec![], 0.0));
        let long = vec![1.0; 40_001];
        assert_eq!(backward(&long, 2.0, &long), (vec![2.0; 40_001], 40_001.0));
    }
}
