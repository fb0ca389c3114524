//! Layer norm of rows: `(x - mean) / sqrt(variance + eps) * gamma + beta`.

use pulp::Arch;

use super::pieces::{self, Start};

/// Number of sums that run side by side, so that they fit into vector registers.
const LANES: usize = 16;

/// Computes the norm of each row.
///
/// # Shapes
/// `x [n, width]`, `gamma [width]`, `beta [width] -> [n, width]`
#[must_use]
pub fn forward(x: &[f32], gamma: &[f32], beta: &[f32], eps: f32) -> Vec<f32> {
    let width = gamma.len();
    if width == 0 {
        return x.to_vec();
    }
    let size = pieces::rows_of_a_piece(width) * width;
    let (output, _) = pieces::compute(Start::Copy(x), size, |_, rows| {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for row in rows.chunks_exact_mut(width) {
                    normalise(row, eps);
                    for ((x, gamma), beta) in row.iter_mut().zip(gamma).zip(beta) {
                        *x = *x * gamma + beta;
                    }
                }
            },
        );
    });
    output
}

/// Gradients of [`forward`].
pub struct Grads {
    /// Gradient of the input, `[n, width]`.
    pub x: Vec<f32>,
    /// Gradient of the scale, `[width]`.
    pub gamma: Vec<f32>,
    /// Gradient of the shift, `[width]`.
    pub beta: Vec<f32>,
}

/// Computes the gradients from that of the output.
///
/// # Shapes
/// `x [n, width]`, `gamma [width]`, `grad [n, width]`
#[must_use]
pub fn backward(x: &[f32], gamma: &[f32], eps: f32, grad: &[f32]) -> Grads {
    let width = gamma.len();
    if width == 0 {
        let (gamma, beta) = (Vec::new(), Vec::new());
        return Grads {
            x: x.to_vec(),
            gamma,
            beta,
        };
    }
    let size = pieces::rows_of_a_piece(width) * width;
    let (output, sums) = pieces::compute(Start::Copy(x), size, |index, rows| {
        let grad = &grad[index * size..index * size + rows.len()];
        // The sums of `grad xhat`, then those of `grad`.
        let mut sums = vec![0.0; 2 * width];
        let (of_gamma, of_beta) = sums.split_at_mut(width);
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (row, grad) in rows.chunks_exact_mut(width).zip(grad.chunks_exact(width)) {
                    backward_row(row, grad, gamma, eps, (&mut *of_gamma, &mut *of_beta));
                }
            },
        );
        sums
    });
    let mut gamma = pieces::sum(sums, 2 * width);
    let beta = gamma.split_off(width);
    Grads {
        x: output,
        gamma,
        beta,
    }
}

/// Shifts and scales a row to mean 0 and variance 1; returns the scale.
#[inline(always)]
fn normalise(row: &mut [f32], eps: f32) -> f32 {
    let width = row.len() as f32;
    let mean = sum(row, |x| x) / width;
    row.iter_mut().for_each(|x| *x -= mean);
    let variance = sum(row, |x| x * x) / width;
    let scale = 1.0 / (variance + eps).sqrt();
    row.iter_mut().for_each(|x| *x *= scale);
    scale
}

/// Replaces a row of the input by its gradient and adds to the sums of the scale and the shift.
#[inline(always)]
fn backward_row(
    row: &mut [f32],
    grad: &[f32],
    gamma: &[f32],
    eps: f32,
    (of_gamma, of_beta): (&mut [f32], &mut [f32]),
) {
    let width = row.len() as f32;
    let scale = normalise(row, eps);
    for (((x, grad), of_gamma), of_beta) in row.iter().zip(grad).zip(of_gamma).zip(of_beta) {
        *of_gamma += x * grad;
        *of_beta += grad;
    }
    let [mean, slope] = sums(grad, gamma, row).map(|sum| sum / width);
    for ((x, grad), gamma) in row.iter_mut().zip(grad).zip(gamma) {
        *x = scale * (grad * gamma - mean - *x * slope);
    }
}

/// Sums a function of all values.
#[inline(always)]
fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().map(|x| of(*x)).sum();
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += of(*x);
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Sums `grad gamma` and `grad gamma x`.
#[inline(always)]
fn sums(grad: &[f32], gamma: &[f32], x: &[f32]) -> [f32; 2] {
    let (mut plain, mut weighted) = ([0.0; LANES], [0.0; LANES]);
    let whole = grad.len() / LANES * LANES;
    let chunks = grad[..whole].chunks_exact(LANES);
    let chunks = chunks.zip(gamma.chunks_exact(LANES).zip(x.chunks_exact(LANES)));
    for (grad, (gamma, x)) in chunks {
        for i in 0..LANES {
            let value = grad[i] * gamma[i];
            plain[i] += value;
            weighted[i] += value * x[i];
        }
    }
    let mut sums = [plain.iter().sum::<f32>(), weighted.iter().sum::<f32>()];
    for ((grad, gamma), x) in grad[whole..].iter().zip(&gamma[whole..]).zip(&x[whole..]) {
        sums[0] += grad * gamma;
        sums[1] += grad * gamma * x;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::{assert_gradients, value};

    /// Returns the sum of `grad` times the norm, in double precision.
    fn weighted(x: &[f64], gamma: &[f64], beta: &[f64], grad: &[f32]) -> f64 {
        let width = gamma.len();
        let row = |(x, grad): (&[f64], &[f32])| {
            let mean = x.iter().sum::<f64>() / width as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
            let scale = 1.0 / (variance + 1e-5).sqrt();
            let value =
                |i: usize| f64::from(grad[i]) * ((x[i] - mean) * scale * gamma[i] + beta[i]);
            (0..width).map(value).sum::<f64>()
        };
        x.chunks(width).zip(grad.chunks(width)).map(row).sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (rows, width) in [(1, 2), (3, 5), (4, 16), (3, 37)] {
            let x: Vec<f32> = (0..rows * width).map(value).collect();
            let gamma: Vec<f32> = (0..width).map(|i| value(i + 3)).collect();
            let beta: Vec<f32> = (0..width).map(|i| value(i + 7)).collect();
            let grad: Vec<f32> = (0..rows * width).map(|i| value(i + 11)).collect();
            let sum = |[x, gamma, beta]: &[Vec<f64>; 3]| weighted(x, gamma, beta, &grad);
            let output = forward(&x, &gamma, &beta, 1e-5);
            let grads = backward(&x, &gamma, 1e-5, &grad);
            let gradients = [&grads.x[..], &grads.gamma, &grads.beta];
            assert_gradients([&x, &gamma, &beta], (&output, &grad), gradients, sum);
        }
    }

    #[test]
    fn no_row_and_no_width_are_allowed() {
        assert!(forward(&[], &[1.0], &[0.0], 1e-5).is_empty());
        assert_eq!(backward(&[], &[1.0], 1e-5, &[]).gamma, [0.0]);
        assert!(backward(&[], &[], 1e-5, &[]).gamma.is_empty());
    }
}
