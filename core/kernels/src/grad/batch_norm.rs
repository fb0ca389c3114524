//! Batch norm by the statistics of the batch, channel by channel.

use pulp::Arch;

use super::pieces;

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

/// Gradients of [`Sizes::forward`].
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
        let count = (x.len() / self.channels.max(1)) as f64;
        let mean = |sums: Vec<[f64; 2]>| sums.iter().map(|sum| (sum[0] / count) as f32).collect();
        let zeros = vec![0.0; self.channels];
        let sums = self.sums(
            [x, x],
            &zeros,
            #[inline(always)]
            |x, _, _| [x, 0.0],
        );
        let means: Vec<f32> = mean(sums);
        let sums = self.sums(
            [x, x],
            &means,
            #[inline(always)]
            |x, _, mean| [(x - mean) * (x - mean), 0.0],
        );
        Statistics {
            mean: means,
            variance: mean(sums),
        }
    }

    /// Computes `(x - mean) / sqrt(variance + eps) * gamma + beta`.
    ///
    /// # Shapes
    /// `x [batch, channels, places]`, `gamma [channels]`, `beta [channels] -> [batch, channels,
    /// places]`
    #[must_use]
    pub fn forward(
        self,
        x: &[f32],
        [gamma, beta]: [&[f32]; 2],
        statistics: &Statistics,
        eps: f32,
    ) -> Vec<f32> {
        let line = |channel: usize| {
            let scale = gamma[channel] / (statistics.variance[channel] + eps).sqrt();
            (scale, beta[channel] - statistics.mean[channel] * scale)
        };
        let mut output = x.to_vec();
        self.for_planes(
            &mut output,
            #[inline(always)]
            |at, values| {
                let (scale, shift) = line(at % self.channels);
                for value in values {
                    *value = *value * scale + shift;
                }
            },
        );
        output
    }

    /// Computes the gradients from that of the output. The statistics count as functions of `x`.
    #[must_use]
    pub fn backward(
        self,
        x: &[f32],
        gamma: &[f32],
        statistics: &Statistics,
        eps: f32,
        grad: &[f32],
    ) -> Grads {
        let count = (x.len() / self.channels.max(1)) as f64;
        let sums = self.sums(
            [x, grad],
            &statistics.mean,
            #[inline(always)]
            |x, grad, mean| [grad, grad * (x - mean)],
        );
        let channel = |channel: usize, [plain, weighted]: [f64; 2]| {
            let mean = f64::from(statistics.mean[channel]);
            let scale = 1.0 / (f64::from(statistics.variance[channel]) + f64::from(eps)).sqrt();
            // The sum of `grad xhat`.
            let of_gamma = weighted * scale;
            let gain = f64::from(gamma[channel]) * scale;
            let slope = -gain * scale * of_gamma / count;
            let shift = -gain * plain / count - slope * mean;
            (of_gamma as f32, [gain as f32, slope as f32, shift as f32])
        };
        let found = sums.iter().enumerate().map(|(c, sums)| channel(c, *sums));
        let (of_gamma, lines): (Vec<f32>, Vec<[f32; 3]>) = found.unzip();
        let mut output = x.to_vec();
        self.for_planes(
            &mut output,
            #[inline(always)]
            |at, values| {
                let [gain, slope, shift] = lines[at % self.channels];
                let grad = &grad[at * self.places..];
                for (value, grad) in values.iter_mut().zip(grad) {
                    *value = gain * grad + slope * *value + shift;
                }
            },
        );
        Grads {
            x: output,
            gamma: of_gamma,
            beta: sums.iter().map(|sum| sum[0] as f32).collect(),
        }
    }

    /// Calls `work` with the index of each channel of each image, counted over all, and its values.
    fn for_planes(self, values: &mut [f32], work: impl Fn(usize, &mut [f32]) + Send + Sync) {
        if self.places == 0 {
            return;
        }
        let group = pieces::rows_of_a_piece(self.places);
        pieces::for_each(values, group * self.places, |index, values| {
            Arch::new().dispatch(
                #[inline(always)]
                || {
                    for (i, plane) in values.chunks_exact_mut(self.places).enumerate() {
                        work(index * group + i, plane);
                    }
                },
            );
        });
    }

    /// Sums two functions of the pairs of values of each channel and a value of the channel. A plane
    /// is summed in single precision, the planes in double precision and in their order.
    fn sums(
        self,
        [a, b]: [&[f32]; 2],
        of_channel: &[f32],
        of: impl Fn(f32, f32, f32) -> [f32; 2] + Copy + Send + Sync,
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

/// Sums two functions of pairs of values and a third value.
#[inline(always)]
fn sum_pairs(a: &[f32], b: &[f32], third: f32, of: impl Fn(f32, f32, f32) -> [f32; 2]) -> [f32; 2] {
    let mut sums = [[0.0; LANES]; 2];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let mut rest = [0.0; 2];
    for (a, b) in a_chunks.remainder().iter().zip(b_chunks.remainder()) {
        let [first, second] = of(*a, *b, third);
        rest[0] += first;
        rest[1] += second;
    }
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            let [first, second] = of(a[i], b[i], third);
            sums[0][i] += first;
            sums[1][i] += second;
        }
    }
    [0, 1].map(|which| sums[which].iter().sum::<f32>() + rest[which])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// Returns the sum of `grad` times the norm, in double precision.
    fn weighted(sizes: Sizes, [x, gamma, beta]: &[Vec<f64>; 3], grad: &[f32]) -> f64 {
        let channel = |i: usize| i / sizes.places % sizes.channels;
        let mut sum = 0.0;
        for c in 0..sizes.channels {
            let at: Vec<usize> = (0..x.len()).filter(|i| channel(*i) == c).collect();
            let n = at.len() as f64;
            let mean = at.iter().map(|i| x[*i]).sum::<f64>() / n;
            let variance = at.iter().map(|i| (x[*i] - mean).powi(2)).sum::<f64>() / n;
            let scale = gamma[c] / (variance + 1e-3).sqrt();
            let value = |i: &usize| f64::from(grad[*i]) * ((x[*i] - mean) * scale + beta[c]);
            sum += at.iter().map(value).sum::<f64>();
        }
        sum
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for (batch, channels, places) in [(2, 3, 4), (1, 2, 35), (3, 1, 1)] {
            let sizes = Sizes { channels, places };
            let x: Vec<f32> = (0..batch * channels * places).map(value).collect();
            let gamma: Vec<f32> = (0..channels).map(|i| value(i + 3)).collect();
            let beta: Vec<f32> = (0..channels).map(|i| value(i + 7)).collect();
            let grad: Vec<f32> = (0..x.len()).map(|i| value(i + 11)).collect();
            let wide = |v: &[f32]| v.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
            let start = [wide(&x), wide(&gamma), wide(&beta)];
            let statistics = sizes.statistics(&x);
            let found = sizes.forward(&x, [&gamma, &beta], &statistics, 1e-3);
            let found: f64 = found.iter().zip(&grad).map(|(a, b)| f64::from(a * b)).sum();
            assert!((found - weighted(sizes, &start, &grad)).abs() < 1e-4);
            let grads = sizes.backward(&x, &gamma, &statistics, 1e-3, &grad);
            for (which, found) in [grads.x, grads.gamma, grads.beta].iter().enumerate() {
                assert_eq!(found.len(), start[which].len());
                for (i, found) in found.iter().enumerate() {
                    let (mut up, mut down) = (start.clone(), start.clone());
                    up[which][i] += 1e-6;
                    down[which][i] -= 1e-6;
                    let (up, down) = (weighted(sizes, &up, &grad), weighted(sizes, &down, &grad));
                    let expected = (up - down) / 2e-6;
                    assert!((f64::from(*found) - expected).abs() < 1e-4 * (1.0 + expected.abs()));
                }
            }
        }
    }
}
