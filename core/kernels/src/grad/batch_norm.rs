//! Batch norm by the statistics of the batch, channel by channel, and a rectifier after it.
//!
//! Both in one pass: the values are too many for the caches.

use pulp::Arch;

use super::pieces::{self, Start};
use super::rectify::Rectifier;

/// Number of sums that run side by side, so that they fit into vector registers.
const LANES: usize = 16;

/// Statistics of the channels.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Mean of each channel.
    pub mean: Vec<f32>,
    /// Population variance of each channel.
    pub variance: Vec<f32>,
}

/// Sizes of the values that are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of channels.
    pub channels: usize,
    /// Number of positions of a channel of one image.
    pub places: usize,
}

/// A norm by given statistics.
#[derive(Clone, Debug)]
pub struct Norm {
    /// Sizes of the values.
    pub sizes: Sizes,
    /// Statistics of the input.
    pub statistics: Statistics,
    /// Added to the variance.
    pub eps: f32,
    /// Rectifier after the norm.
    pub rectifier: Option<Rectifier>,
}

/// Gradients of [`Norm::forward`].
pub struct Grads {
    /// Gradient of the input, `[batch, channels, places]`.
    pub x: Vec<f32>,
    /// Gradient of the scale, `[channels]`.
    pub gamma: Vec<f32>,
    /// Gradient of the shift, `[channels]`.
    pub beta: Vec<f32>,
}

impl Sizes {
    /// Computes the statistics of `x [batch, channels, places]`.
    #[must_use]
    pub fn statistics(self, x: &[f32]) -> Statistics {
        let planes = self.plane_statistics(x);
        let of_channel = |channel: usize| planes.iter().skip(channel).step_by(self.channels);
        let count = planes.len().div_ceil(self.channels.max(1)) as f64;
        let statistics = |channel: usize| {
            let mean = of_channel(channel).map(|plane| plane[0]).sum::<f64>() / count;
            let variance = of_channel(channel).map(|plane| plane[1] + (plane[0] - mean).powi(2));
            (mean as f32, (variance.sum::<f64>() / count) as f32)
        };
        let (mean, variance) = (0..self.channels).map(statistics).unzip();
        Statistics { mean, variance }
    }

    /// Returns the mean and the variance of each channel of each image, in one pass: the differences from one of the
    /// values are summed, which are small enough to lose no digits (Chan et al. 1983, "Algorithms for computing the
    /// sample variance").
    fn plane_statistics(self, x: &[f32]) -> Vec<[f64; 2]> {
        let size = pieces::rows_of_a_piece(self.places) * self.places;
        let count = self.places as f64;
        let parts = pieces::map_shared(x, size, |planes| {
            let mut found = Vec::with_capacity(planes.len() / self.places.max(1));
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    for plane in planes.chunks_exact(self.places.max(1)) {
                        let one = plane[0];
                        let sums = sum_pairs(
                            plane,
                            plane,
                            one,
                            (
                                #[inline(always)]
                                |x, _, one| x - one,
                                #[inline(always)]
                                |x, _, one| (x - one) * (x - one),
                            ),
                        );
                        let [mean, square] = sums.map(|sum| f64::from(sum) / count);
                        found.push([f64::from(one) + mean, (square - mean * mean).max(0.0)]);
                    }
                },
            );
            found
        });
        parts.concat()
    }

    /// Calls `work` with the index of each channel of each image, counted over all, and a copy of its
    /// values; returns the copies.
    fn for_planes(
        self,
        values: &[f32],
        work: impl Fn(usize, &mut [f32]) + Send + Sync,
    ) -> Vec<f32> {
        if self.places == 0 {
            return values.to_vec();
        }
        let group = pieces::rows_of_a_piece(self.places);
        let (start, size) = (Start::Copy(values), group * self.places);
        let (values, _) = pieces::compute(start, size, |index, values| {
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (i, plane) in values.chunks_exact_mut(self.places).enumerate() {
                        work(index * group + i, plane);
                    }
                },
            );
        });
        values
    }

    /// Sums two functions of the pairs of values of each channel and a value of the channel. A plane
    /// is summed in single precision, the planes in double precision and in their order.
    fn sums<C: Copy + Sync>(
        self,
        [a, b]: [&[f32]; 2],
        of_channel: &[C],
        of: (
            impl Fn(f32, f32, C) -> f32 + Copy + Send + Sync,
            impl Fn(f32, f32, C) -> f32 + Copy + Send + Sync,
        ),
    ) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; self.channels];
        if self.places == 0 {
            return sums;
        }
        let group = pieces::rows_of_a_piece(self.places);
        let parts = pieces::map_pairs(a, b, group * self.places, |index, a, b| {
            let mut found = Vec::with_capacity(group);
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    let planes = a.chunks_exact(self.places).zip(b.chunks_exact(self.places));
                    for (i, (a, b)) in planes.enumerate() {
                        let value = of_channel[(index * group + i) % self.channels];
                        found.push(sum_pairs(a, b, value, of));
                    }
                },
            );
            found
        });
        for (at, found) in parts.iter().flatten().enumerate() {
            let sum = &mut sums[at % self.channels];
            sum[0] += f64::from(found[0]);
            sum[1] += f64::from(found[1]);
        }
        sums
    }
}

/// Returns the gradient of the normed value if it lies within the bounds, else 0.
#[inline(always)]
fn passed(x: f32, grad: f32, [scale, shift]: [f32; 2], [low, high]: [f32; 2]) -> f32 {
    let normed = x * scale + shift;
    if (normed >= low) & (normed <= high) {
        grad
    } else {
        0.0
    }
}

impl Norm {
    /// Computes `(x - mean) / sqrt(variance + eps) * gamma + beta`, rectified.
    ///
    /// # Shapes
    /// `x [batch, channels, places]`, `gamma [channels]`, `beta [channels] -> [batch, channels,
    /// places]`
    #[must_use]
    pub fn forward(&self, x: &[f32], line: [&[f32]; 2]) -> Vec<f32> {
        let bounds = self.rectifier.map(Rectifier::bounds);
        let [low, high] = bounds.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let lines = self.lines(line);
        self.sizes.for_planes(
            x,
            #[inline(always)]
            |at, values| {
                let [scale, shift] = lines[at % self.sizes.channels];
                // Copies, which stay in registers.
                let (low, high) = (low, high);
                for value in values {
                    let normed = *value * scale + shift;
                    // NaN stays NaN.
                    let above = if normed < low { low } else { normed };
                    *value = if above > high { high } else { above };
                }
            },
        )
    }

    /// Returns the norm of each channel as a scale and a shift.
    fn lines(&self, [gamma, beta]: [&[f32]; 2]) -> Vec<[f32; 2]> {
        let Statistics { mean, variance } = &self.statistics;
        let line = |channel: usize| {
            let scale = gamma[channel] / (variance[channel] + self.eps).sqrt();
            [scale, beta[channel] - mean[channel] * scale]
        };
        (0..self.sizes.channels).map(line).collect()
    }

    /// Computes the gradients from that of the output. The statistics count as functions of `x`.
    #[must_use]
    pub fn backward(&self, x: &[f32], [gamma, beta]: [&[f32]; 2], grad: &[f32]) -> Grads {
        let Self {
            sizes,
            statistics,
            eps,
            ..
        } = self;
        let count = (x.len() / sizes.channels.max(1)) as f64;
        // Without a rectifier, infinite values pass, too.
        let passing = self.rectifier.map(Rectifier::passing);
        let [low, high] = passing.unwrap_or([f32::NEG_INFINITY, f32::INFINITY]);
        let lines = self.lines([gamma, beta]);
        let channels = lines.iter().zip(&statistics.mean);
        let channels: Vec<_> = channels.map(|(line, mean)| (*line, *mean)).collect();
        let sums = sizes.sums(
            [x, grad],
            &channels,
            (
                #[inline(always)]
                move |x, grad, (line, _)| passed(x, grad, line, [low, high]),
                #[inline(always)]
                move |x, grad, (line, mean)| passed(x, grad, line, [low, high]) * (x - mean),
            ),
        );
        let channel = |channel: usize, [plain, weighted]: [f64; 2]| {
            let mean = f64::from(statistics.mean[channel]);
            let scale = 1.0 / (f64::from(statistics.variance[channel]) + f64::from(*eps)).sqrt();
            // The sum of `grad xhat`.
            let of_gamma = weighted * scale;
            let gain = f64::from(gamma[channel]) * scale;
            let slope = -gain * scale * of_gamma / count;
            let shift = -gain * plain / count - slope * mean;
            (of_gamma as f32, [gain as f32, slope as f32, shift as f32])
        };
        let found = sums.iter().enumerate().map(|(c, sums)| channel(c, *sums));
        let (of_gamma, slopes): (Vec<f32>, Vec<[f32; 3]>) = found.unzip();
        let of_x = sizes.for_planes(
            x,
            #[inline(always)]
            |at, values| {
                let [gain, slope, offset] = slopes[at % sizes.channels];
                // Copies, which stay in registers.
                let (line, bounds) = (lines[at % sizes.channels], [low, high]);
                let grad = &grad[at * sizes.places..];
                for (value, grad) in values.iter_mut().zip(grad.iter().copied()) {
                    let grad = passed(*value, grad, line, bounds);
                    *value = gain * grad + slope * *value + offset;
                }
            },
        );
        Grads {
            x: of_x,
            gamma: of_gamma,
            beta: sums.iter().map(|sum| sum[0] as f32).collect(),
        }
    }
}

/// Sums two functions of pairs of values and a third value. Each has a loop of its own, because the compiler does not use
/// vectors for two sums in one loop.
#[inline(always)]
fn sum_pairs<C: Copy>(
    a: &[f32],
    b: &[f32],
    third: C,
    (first, second): (impl Fn(f32, f32, C) -> f32, impl Fn(f32, f32, C) -> f32),
) -> [f32; 2] {
    [sum(a, b, third, first), sum(a, b, third, second)]
}

#[inline(always)]
fn sum<C: Copy>(a: &[f32], b: &[f32], third: C, of: impl Fn(f32, f32, C) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(a, b)| of(*a, *b, third)).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += of(*a, *b, third);
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::{assert_gradients, value};

    /// Returns the sum of `grad` times the rectified norm, in double precision.
    fn weighted(norm: &Norm, [x, gamma, beta]: &[Vec<f64>; 3], grad: &[f32]) -> f64 {
        let Sizes { channels, places } = norm.sizes;
        let channel = |i: usize| i / places % channels;
        let mut sum = 0.0;
        for c in 0..channels {
            let at: Vec<usize> = (0..x.len()).filter(|i| channel(*i) == c).collect();
            let n = at.len() as f64;
            let mean = at.iter().map(|i| x[*i]).sum::<f64>() / n;
            let variance = at.iter().map(|i| (x[*i] - mean).powi(2)).sum::<f64>() / n;
            let scale = gamma[c] / (variance + 1e-3).sqrt();
            let rectified = |y: f64| match norm.rectifier {
                None => y,
                Some(Rectifier::Relu) => y.max(0.0),
                Some(Rectifier::Relu6) => y.clamp(0.0, 6.0),
            };
            let value = |i: &usize| rectified((x[*i] - mean) * scale + beta[c]);
            let terms = at.iter().map(|i| f64::from(grad[*i]) * value(i));
            sum += terms.sum::<f64>();
        }
        sum
    }

    #[test]
    fn gradients_are_those_of_differences() {
        let sizes = [(2, 3, 4), (1, 2, 35), (3, 1, 1)];
        let rectifiers = [None, Some(Rectifier::Relu), Some(Rectifier::Relu6)];
        for ((batch, channels, places), rectifier) in
            sizes.into_iter().flat_map(|s| rectifiers.map(|r| (s, r)))
        {
            let sizes = Sizes { channels, places };
            let x: Vec<f32> = (0..batch * channels * places).map(value).collect();
            // Some values lie above 6.
            let gamma: Vec<f32> = (0..channels).map(|i| 6.0 * value(i + 3)).collect();
            let beta: Vec<f32> = (0..channels).map(|i| 2.0 + value(i + 7)).collect();
            let grad: Vec<f32> = (0..x.len()).map(|i| value(i + 11)).collect();
            let norm = Norm {
                sizes,
                statistics: sizes.statistics(&x),
                eps: 1e-3,
                rectifier,
            };
            let sum = |at: &[Vec<f64>; 3]| weighted(&norm, at, &grad);
            let output = norm.forward(&x, [&gamma, &beta]);
            let grads = norm.backward(&x, [&gamma, &beta], &grad);
            let gradients = [&grads.x[..], &grads.gamma, &grads.beta];
            assert_gradients([&x, &gamma, &beta], (&output, &grad), gradients, sum);
        }
    }
}
