//! Kernels standardised to mean 0 and norm 1, times a gain.

use pulp::Arch;

use super::pieces::{self, Start};

/// Sizes of the kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standardise {
    /// Values of a kernel.
    pub width: usize,
    /// Added to the norm of a kernel.
    pub eps: f32,
}

/// Gradients of [`Standardise::forward`].
pub struct Grads {
    /// Gradient of the kernels, `[n, width]`.
    pub weight: Vec<f32>,
    /// Gradient of the gains, `[n]`.
    pub gain: Vec<f32>,
}

impl Standardise {
    /// Computes `gain c / (|c| + eps)` with `c = weight - mean(weight)`, kernel by kernel.
    ///
    /// # Shapes
    /// `weight [n, width]`, `gain [n] -> [n, width]`
    #[must_use]
    pub fn forward(self, weight: &[f32], gain: &[f32]) -> Vec<f32> {
        let group = pieces::rows_of_a_piece(self.width);
        let (start, size) = (Start::Copy(weight), group * self.width);
        let (output, _) = pieces::compute(start, size, |index, kernels| {
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    let kernels = kernels.chunks_exact_mut(self.width.max(1));
                    for (kernel, gain) in kernels.zip(&gain[index * group..]) {
                        let norm = centre(kernel);
                        let scale = gain / (norm + self.eps);
                        kernel.iter_mut().for_each(|x| *x *= scale);
                    }
                },
            );
        });
        output
    }

    /// Computes the gradients from that of the output, `grad [n, width]`.
    #[must_use]
    pub fn backward(self, weight: &[f32], gain: &[f32], grad: &[f32]) -> Grads {
        let group = pieces::rows_of_a_piece(self.width);
        let (start, size) = (Start::Copy(weight), group * self.width);
        let (output, gains) = pieces::compute(start, size, |index, kernels| {
            let mut found = Vec::with_capacity(group);
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    let first = index * group;
                    let grad = grad[first * self.width..].chunks_exact(self.width.max(1));
                    let kernels = kernels.chunks_exact_mut(self.width.max(1));
                    for ((kernel, grad), gain) in kernels.zip(grad).zip(&gain[first..]) {
                        found.push(self.backward_kernel(kernel, grad, *gain));
                    }
                },
            );
            found
        });
        Grads {
            weight: output,
            gain: gains.into_iter().flatten().collect(),
        }
    }

    /// Replaces a kernel by its gradient; returns that of its gain.
    #[inline(always)]
    fn backward_kernel(self, kernel: &mut [f32], grad: &[f32], gain: f32) -> f32 {
        let norm = centre(kernel);
        let full = norm + self.eps;
        let dot = sum(kernel, grad, |x, grad| x * grad);
        let scale = gain / full;
        let slope = match norm {
            0.0 => 0.0,
            _ => scale * dot / (full * norm),
        };
        // The gradient of the centred kernel has the mean of `scale grad`: the kernel's is 0.
        let mean = scale * sum(grad, grad, |grad, _| grad) / self.width as f32;
        for (x, grad) in kernel.iter_mut().zip(grad) {
            *x = scale * grad - slope * *x - mean;
        }
        dot / full
    }
}

/// Shifts a kernel to mean 0; returns its norm.
#[inline(always)]
fn centre(kernel: &mut [f32]) -> f32 {
    let mean = sum(kernel, kernel, |x, _| x) / kernel.len() as f32;
    kernel.iter_mut().for_each(|x| *x -= mean);
    sum(kernel, kernel, |x, _| x * x).sqrt()
}

/// Sums a function of pairs of values.
#[inline(always)]
fn sum(a: &[f32], b: &[f32], of: impl Fn(f32, f32) -> f32) -> f32 {
    const LANES: usize = 32;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(a, b)| of(*a, *b)).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += of(a[i], b[i]);
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::{assert_gradients, value};

    fn weighted(weight: &[f64], gain: &[f64], grad: &[f32], width: usize) -> f64 {
        let kernel = |(i, kernel): (usize, &[f64])| {
            let mean = kernel.iter().sum::<f64>() / width as f64;
            let norm = kernel
                .iter()
                .map(|x| (x - mean).powi(2))
                .sum::<f64>()
                .sqrt()
                + 1e-5;
            let terms = kernel.iter().zip(&grad[i * width..]);
            terms
                .map(|(x, grad)| gain[i] * (x - mean) / norm * f64::from(*grad))
                .sum::<f64>()
        };
        weight.chunks(width).enumerate().map(kernel).sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (count, width) in [(1, 2), (3, 27), (2, 70)] {
            let sizes = Standardise { width, eps: 1e-5 };
            let weight: Vec<f32> = (0..count * width).map(value).collect();
            let gain: Vec<f32> = (0..count).map(|i| value(i + 3)).collect();
            let grad: Vec<f32> = (0..count * width).map(|i| value(i + 7)).collect();
            let sum = |[weight, gain]: &[Vec<f64>; 2]| weighted(weight, gain, &grad, width);
            let output = sizes.forward(&weight, &gain);
            let grads = sizes.backward(&weight, &gain, &grad);
            let gradients = [&grads.weight[..], &grads.gain];
            assert_gradients([&weight, &gain], (&output, &grad), gradients, sum);
        }
    }

    #[test]
    fn constant_kernels_have_finite_gradients() {
        let sizes = Standardise {
            width: 3,
            eps: 1e-5,
        };
        let grads = sizes.backward(&[1.0; 3], &[1.0], &[1.0, 2.0, 3.0]);
        assert!(
            grads
                .weight
                .iter()
                .chain(&grads.gain)
                .all(|x| x.is_finite())
        );
    }
}
