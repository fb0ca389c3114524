//! Convolution in which each channel has its own kernel.
//!
//! A padded channel is split into one plane for each remainder of its rows and columns modulo the
//! stride. In these planes each weight reads a shifted copy of the output's positions, so a plane is
//! processed as one long row.

use pulp::Arch;

use super::pieces::{self, Start};
use super::window::Window;

/// Number of values that are summed side by side in vector registers.
const LANES: usize = 32;

/// Sizes of a depthwise convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depthwise {
    /// Number of channels.
    pub channels: usize,
    /// Sizes of one channel.
    pub window: Window,
}

/// Gradients of [`Depthwise::forward`].
pub struct Grads {
    /// Gradient of the input, `[batch, channels, h, w]`.
    pub x: Vec<f32>,
    /// Gradient of the kernels, `[channels, rows, columns]`.
    pub weight: Vec<f32>,
    /// Gradient of the bias, `[channels]`.
    pub bias: Vec<f32>,
}

/// The planes of a channel.
struct Planes {
    /// Columns of a plane.
    width: usize,
    /// Values of a plane.
    size: usize,
    /// First value, in the planes, that each weight reads.
    offsets: Vec<usize>,
    /// Positions of the output if its rows are as long as those of the planes.
    length: usize,
}

impl Depthwise {
    /// Computes the convolution.
    ///
    /// # Shapes
    /// `x [batch, channels, h, w]`, `weight [channels, rows, columns]`, `bias [channels] -> [batch,
    /// channels, output rows, output columns]`
    #[must_use]
    pub fn forward(self, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let (window, planes) = (self.window, self.planes());
        let (pixels, places) = (window.pixels(), window.places());
        if pixels == 0 || places == 0 {
            return vec![0.0; x.len() / pixels.max(1) * places];
        }
        let start = Start::Zeros(x.len() / pixels * places);
        let group = pieces::rows_of_a_piece(places);
        let (output, _) = pieces::compute(start, group * places, |index, output| {
            let (mut source, mut target) = planes.buffers(window);
            for (i, output) in output.chunks_exact_mut(places).enumerate() {
                let at = index * group + i;
                let channel = at % self.channels;
                self.split(&x[at * pixels..][..pixels], &planes, &mut source);
                let taps = &weight[channel * window.taps()..][..window.taps()];
                let shift = bias.map_or(0.0, |bias| bias[channel]);
                Arch::new().dispatch(
                    #[inline(always)]
                    || filter(&source, &planes.offsets, taps, shift, &mut target),
                );
                let rows = output.chunks_exact_mut(window.output[1]);
                for (row, values) in rows.zip(target.chunks(planes.width)) {
                    row.copy_from_slice(&values[..row.len()]);
                }
            }
        });
        output
    }

    /// Computes the gradients from that of the output, `grad [batch, channels, output rows, output
    /// columns]`; the other shapes are those of [`forward`](Self::forward).
    #[must_use]
    pub fn backward(self, x: &[f32], weight: &[f32], grad: &[f32]) -> Grads {
        let (window, planes) = (self.window, self.planes());
        let (pixels, places, taps) = (window.pixels(), window.places(), window.taps());
        let mut sums = vec![0.0; self.channels * (taps + 1)];
        let mut of_x = vec![0.0; x.len() * usize::from(places == 0)];
        if pixels > 0 && places > 0 {
            let group = pieces::rows_of_a_piece(pixels);
            let start = Start::Zeros(x.len());
            let (output, parts) = pieces::compute(start, group * pixels, |index, output| {
                let (mut source, mut slopes) = planes.buffers(window);
                let mut spread = vec![0.0; source.len()];
                let mut found = Vec::with_capacity(group * (taps + 1));
                for (i, output) in output.chunks_exact_mut(pixels).enumerate() {
                    let at = index * group + i;
                    self.split(&x[at * pixels..][..pixels], &planes, &mut source);
                    let grad = grad[at * places..][..places].chunks_exact(window.output[1]);
                    for (row, values) in slopes.chunks_mut(planes.width).zip(grad) {
                        row[..values.len()].copy_from_slice(values);
                    }
                    let taps_of = &weight[at % self.channels * taps..][..taps];
                    spread.fill(0.0);
                    let channel = (&source[..], &slopes[..]);
                    Arch::new().dispatch(
                        #[inline(always)]
                        || backward_channel(channel, &planes, taps_of, &mut spread, &mut found),
                    );
                    self.join(&spread, &planes, output);
                }
                found
            });
            of_x = output;
            // In the order of the images, whatever the number of threads.
            let found = parts.iter().flat_map(|part| part.chunks_exact(taps + 1));
            for (at, found) in found.enumerate() {
                let from = at % self.channels * (taps + 1);
                for (sum, value) in sums[from..from + taps + 1].iter_mut().zip(found) {
                    *sum += value;
                }
            }
        }
        let channels = sums.chunks_exact(taps + 1);
        Grads {
            x: of_x,
            weight: channels
                .clone()
                .flat_map(|c| c[..taps].iter().copied())
                .collect(),
            bias: channels.map(|c| c[taps]).collect(),
        }
    }

    fn planes(self) -> Planes {
        let Window {
            kernel,
            stride,
            output,
            ..
        } = self.window;
        let reach = [0, 1].map(|axis| output[axis] + (kernel[axis] - 1) / stride);
        let (width, size) = (reach[1], reach[0] * reach[1]);
        let offset = |tap: usize| {
            let (row, column) = (tap / kernel[1], tap % kernel[1]);
            let plane = row % stride * stride + column % stride;
            plane * size + row / stride * width + column / stride
        };
        Planes {
            width,
            size,
            offsets: (0..kernel[0] * kernel[1]).map(offset).collect(),
            length: (output[0].max(1) - 1) * width + output[1],
        }
    }

    /// Calls `work` with the place of each input row in the channel, the first of its columns that
    /// lies in a plane, and the place of that column in the planes.
    fn for_rows(self, planes: &Planes, mut work: impl FnMut(usize, usize, usize)) {
        let Window {
            input,
            stride,
            before,
            ..
        } = self.window;
        for row in 0..input[0] {
            let padded = row + before[0];
            if (padded / stride + 1) * planes.width > planes.size {
                break;
            }
            for phase in 0..stride {
                // The first column whose padded place has this remainder.
                let column = (phase + stride - before[1] % stride) % stride;
                let plane = padded % stride * stride + phase;
                let at = plane * planes.size + padded / stride * planes.width;
                work(row * input[1], column, at + (column + before[1]) / stride);
            }
        }
    }

    /// Returns the number of values of a row that lie in a plane, from a column on.
    fn count(self, planes: &Planes, column: usize) -> usize {
        let Window {
            input,
            stride,
            before,
            ..
        } = self.window;
        let all = input[1].saturating_sub(column).div_ceil(stride);
        all.min(planes.width.saturating_sub((column + before[1]) / stride))
    }

    /// Splits a channel into planes; the padding in `planes` stays as it is.
    fn split(self, channel: &[f32], planes: &Planes, target: &mut [f32]) {
        let stride = self.window.stride;
        self.for_rows(planes, |row, column, at| {
            let count = self.count(planes, column);
            if count == 0 {
                return;
            }
            let (values, target) = (&channel[row + column..], &mut target[at..at + count]);
            if stride == 1 {
                target.copy_from_slice(&values[..count]);
            } else {
                for (target, value) in target.iter_mut().zip(values.iter().step_by(stride)) {
                    *target = *value;
                }
            }
        });
    }

    /// Puts planes together to a channel; input that no output reads becomes 0.
    fn join(self, source: &[f32], planes: &Planes, channel: &mut [f32]) {
        let stride = self.window.stride;
        self.for_rows(planes, |row, column, at| {
            let count = self.count(planes, column);
            if count == 0 {
                return;
            }
            let (values, source) = (&mut channel[row + column..], &source[at..at + count]);
            if stride == 1 {
                values[..count].copy_from_slice(source);
            } else {
                for (value, source) in values.iter_mut().step_by(stride).zip(source) {
                    *value = *source;
                }
            }
        });
    }
}

impl Planes {
    /// Returns zeros for the planes of a channel and for the positions of the output.
    fn buffers(&self, window: Window) -> (Vec<f32>, Vec<f32>) {
        let planes = window.stride * window.stride;
        (vec![0.0; planes * self.size], vec![0.0; self.length])
    }
}

/// Computes `shift + sum of weight * source[offset..]` at all positions.
#[inline(always)]
fn filter(source: &[f32], offsets: &[usize], weights: &[f32], shift: f32, target: &mut [f32]) {
    let length = target.len();
    let mut from = 0;
    while from + LANES <= length {
        let mut sums = [shift; LANES];
        for (offset, weight) in offsets.iter().zip(weights) {
            let values = &source[offset + from..offset + from + LANES];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
        target[from..from + LANES].copy_from_slice(&sums);
        from += LANES;
    }
    for (i, target) in target.iter_mut().enumerate().skip(from) {
        let terms = offsets.iter().zip(weights);
        *target = shift
            + terms
                .map(|(offset, weight)| weight * source[offset + i])
                .sum::<f32>();
    }
}

/// Adds the gradient of the planes of a channel to `spread`; appends those of its weights and of
/// its bias to `found`.
#[inline(always)]
fn backward_channel(
    (source, slopes): (&[f32], &[f32]),
    planes: &Planes,
    weights: &[f32],
    spread: &mut [f32],
    found: &mut Vec<f32>,
) {
    for (offset, weight) in planes.offsets.iter().zip(weights) {
        let reach = *offset..offset + slopes.len();
        for (target, slope) in spread[reach.clone()].iter_mut().zip(slopes) {
            *target += weight * slope;
        }
        found.push(dot(&source[reach], slopes));
    }
    found.push(slopes.iter().sum());
}

/// Computes a dot product.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_chunks.remainder().iter().zip(b_chunks.remainder());
    let rest: f32 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a_chunks.zip(b_chunks) {
        for i in 0..LANES {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grad::window::every_product;
    use crate::test_values::{assert_close, value};

    #[test]
    fn values_and_gradients_are_those_of_plain_loops() {
        for (batch, channels, side, kernel, stride, padding) in [
            (2, 3, [5, 7], 3, 1, (1, 1)),
            (1, 2, [8, 6], 3, 2, (0, 1)),
            (2, 2, [9, 7], 5, 2, (2, 2)),
            (1, 2, [10, 12], 5, 2, (1, 2)),
            (2, 1, [40, 50], 5, 1, (2, 2)),
            (3, 2, [1, 1], 3, 2, (1, 1)),
            (1, 2, [7, 7], 3, 3, (0, 0)),
            (0, 2, [4, 4], 3, 1, (1, 1)),
        ] {
            let window = Window::new(side, [kernel; 2], stride, [padding; 2]);
            let conv = Depthwise { channels, window };
            let (pixels, places, taps) = (window.pixels(), window.places(), window.taps());
            let x: Vec<f32> = (0..batch * channels * pixels).map(value).collect();
            let weight: Vec<f32> = (0..channels * taps).map(|i| value(i + 3)).collect();
            let bias: Vec<f32> = (0..channels).map(|i| value(i + 5)).collect();
            let grad: Vec<f32> = (0..batch * channels * places)
                .map(|i| value(i + 7))
                .collect();
            let channel = |i: usize| i / places % channels;
            let mut expected: Vec<f32> = (0..grad.len()).map(|i| bias[channel(i)]).collect();
            let (mut of_x, mut of_weight) = (vec![0.0; x.len()], vec![0.0; weight.len()]);
            for plane in 0..batch * channels {
                every_product(window, |output, input, tap| {
                    let (output, input) = (plane * places + output, plane * pixels + input);
                    let tap = plane % channels * taps + tap;
                    expected[output] += x[input] * weight[tap];
                    of_x[input] += grad[output] * weight[tap];
                    of_weight[tap] += grad[output] * x[input];
                });
            }
            let mut of_bias = vec![0.0; channels];
            (0..grad.len()).for_each(|i| of_bias[channel(i)] += grad[i]);
            assert_close(&conv.forward(&x, &weight, Some(&bias)), &expected);
            let grads = conv.backward(&x, &weight, &grad);
            assert_close(&grads.x, &of_x);
            assert_close(&grads.weight, &of_weight);
            assert_close(&grads.bias, &of_bias);
        }
    }
}
