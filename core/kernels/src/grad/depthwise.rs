//! Convolution in which each channel has its own kernel.
//!
//! A padded channel is split into one plane for each remainder of its rows and columns modulo the
//! stride. In these planes each weight reads a shifted copy of the output's positions, so a plane is
//! processed as one long row, vector by vector. The sums of a vector stay in a register.

use pulp::{Arch, Simd, WithSimd};

use super::pieces::{self, Start};
use super::strided::{put_alternately, take_every};
use super::window::Window;

/// Most values of a vector. The rows end with so many zeros, so that all vectors are whole.
const LANES: usize = 16;
/// Vectors that are computed together.
const VECTORS: usize = 4;
/// Most weights whose gradients are computed together: those of a 3x3 kernel.
const WEIGHTS: usize = 9;

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

impl Depthwise {
    /// Computes the convolution.
    ///
    /// # Shapes
    /// `x [batch, channels, h, w]`, `weight [channels, rows, columns]`, `bias [channels] -> [batch,
    /// channels, output rows, output columns]`
    #[must_use]
    pub fn forward(self, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let (pixels, places) = (self.window.pixels(), self.window.places());
        if pixels == 0 || places == 0 {
            return vec![0.0; x.len() / pixels.max(1) * places];
        }
        let planes = Planes::new(self.window);
        let start = Start::Zeros(x.len() / pixels * places);
        let group = pieces::rows_of_a_piece(places);
        let (output, _) = pieces::compute(start, group * places, |index, output| {
            Arch::new().dispatch(Forward {
                planes: &planes,
                weight,
                bias,
                x: &x[index * group * pixels..],
                output,
                first: index * group,
            });
        });
        output
    }

    /// Computes the gradients from that of the output, `grad [batch, channels, output rows, output
    /// columns]`; the other shapes are those of [`forward`](Self::forward).
    #[must_use]
    pub fn backward(self, x: &[f32], weight: &[f32], grad: &[f32]) -> Grads {
        let window = self.window;
        let (pixels, places, taps) = (window.pixels(), window.places(), window.taps());
        let mut sums = vec![0.0; self.channels * (taps + 1)];
        let mut of_x = vec![0.0; x.len() * usize::from(places == 0)];
        if pixels > 0 && places > 0 {
            let planes = Planes::new(window);
            let group = pieces::rows_of_a_piece(pixels);
            let start = Start::Zeros(x.len());
            let (output, parts) = pieces::compute(start, group * pixels, |index, output| {
                Arch::new().dispatch(Backward {
                    planes: &planes,
                    weight,
                    x: &x[index * group * pixels..],
                    grad: &grad[index * group * places..],
                    output,
                    first: index * group,
                })
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
}

/// The planes of a channel.
struct Planes {
    window: Window,
    /// Columns of a plane.
    width: usize,
    /// Values of a plane.
    size: usize,
    /// First value, in the planes, that each weight reads.
    offsets: Vec<usize>,
    /// Positions of the output if its rows are as long as those of the planes, in whole vectors.
    length: usize,
    /// Zeros before the gradients of the output, so that the weights reach back to before the first one.
    lead: usize,
    parts: Vec<Part>,
}

/// The input positions of one plane.
struct Part {
    /// First input row and column.
    input: [usize; 2],
    /// First value, in the planes, of its row.
    row: usize,
    /// Its column in the plane.
    column: usize,
    /// Number of rows and columns.
    size: [usize; 2],
    /// The weights that read the plane, each with the first gradient of the output that it multiplies for its row.
    taps: Vec<(usize, usize)>,
}

impl Planes {
    fn new(window: Window) -> Self {
        let Window {
            input,
            kernel,
            stride,
            before,
            output,
        } = window;
        let reach = [0, 1].map(|axis| output[axis] + (kernel[axis] - 1) / stride);
        let (width, size) = (reach[1], reach[0] * reach[1]);
        let offset = |tap: usize| {
            let (row, column) = (tap / kernel[1], tap % kernel[1]);
            let plane = row % stride * stride + column % stride;
            plane * size + row / stride * width + column / stride
        };
        let offsets: Vec<usize> = (0..window.taps()).map(offset).collect();
        let lead = (kernel[0] - 1) / stride * width + (kernel[1] - 1) / stride;
        let part = |plane: usize| {
            let phase = [plane / stride, plane % stride];
            // The first row and column whose padded place has this remainder.
            let first = [0, 1].map(|axis| (phase[axis] + stride - before[axis] % stride) % stride);
            let place = [0, 1].map(|axis| (first[axis] + before[axis]) / stride);
            let count = |axis: usize| {
                let all = input[axis].saturating_sub(first[axis]).div_ceil(stride);
                all.min(reach[axis].saturating_sub(place[axis]))
            };
            let of_plane = offsets.iter().enumerate();
            let of_plane = of_plane.filter(|(_, offset)| **offset / size == plane);
            Part {
                input: first,
                row: plane * size + place[0] * width,
                column: place[1].min(width),
                size: [count(0), count(1)],
                taps: of_plane
                    .map(|(tap, offset)| (tap, lead + place[0] * width - offset % size))
                    .collect(),
            }
        };
        Self {
            window,
            width,
            size,
            lead,
            parts: (0..stride * stride).map(part).collect(),
            offsets,
            length: ((output[0] - 1) * width + output[1]).next_multiple_of(LANES),
        }
    }

    /// Returns zeros for the planes of a channel.
    fn source(&self) -> Vec<f32> {
        vec![0.0; self.parts.len() * self.size + LANES]
    }

    /// Splits a channel into planes; the padding in `target` stays as it is.
    #[inline(always)]
    fn split(&self, channel: &[f32], target: &mut [f32]) {
        let Window { input, stride, .. } = self.window;
        for part in &self.parts {
            let [rows, columns] = part.size;
            if columns == 0 {
                continue;
            }
            for row in 0..rows {
                let from = (part.input[0] + row * stride) * input[1] + part.input[1];
                let to = part.row + row * self.width + part.column;
                let target = &mut target[to..to + columns];
                take_every(&channel[from..], stride, target);
            }
        }
    }

    /// Puts the values of the planes of a remainder of the rows, `size` apart, to their places in a channel.
    #[inline(always)]
    fn join(&self, parts: &[Part], source: &[f32], size: usize, channel: &mut [f32]) {
        let Window { input, stride, .. } = self.window;
        // The plane of the first column.
        let first = parts
            .iter()
            .position(|part| part.input[1] == 0)
            .unwrap_or(0);
        let planes = (0..stride).map(|i| (i + first) % stride);
        for row in 0..parts[0].size[0] {
            let values = &mut channel[(parts[0].input[0] + row * stride) * input[1]..][..input[1]];
            let sources = planes.clone().map(|plane| {
                let from = plane * size + row * self.width + parts[plane].column;
                &source[from..from + parts[plane].size[1]]
            });
            put_alternately(values, sources);
        }
    }
}

/// Computes the outputs of channels of images, from the one whose number, counted over all images, is `first`.
struct Forward<'a> {
    planes: &'a Planes,
    weight: &'a [f32],
    bias: Option<&'a [f32]>,
    x: &'a [f32],
    output: &'a mut [f32],
    first: usize,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (planes, window) = (self.planes, self.planes.window);
        let (mut source, mut target) = (planes.source(), vec![0.0; planes.length]);
        let mut taps = Vec::with_capacity(window.taps());
        let channels = self.weight.len() / window.taps();
        let outputs = self.output.chunks_exact_mut(window.places());
        for (i, (x, output)) in self
            .x
            .chunks_exact(window.pixels())
            .zip(outputs)
            .enumerate()
        {
            let channel = (self.first + i) % channels;
            planes.split(x, &mut source);
            let weights = &self.weight[channel * window.taps()..][..window.taps()];
            taps.clear();
            taps.extend(planes.offsets.iter().copied().zip(weights.iter().copied()));
            let shift = self.bias.map_or(0.0, |bias| bias[channel]);
            filter(simd, &source, &taps, shift, &mut target);
            let rows = output.chunks_exact_mut(window.output[1]);
            for (row, values) in rows.zip(target.chunks(planes.width)) {
                row.copy_from_slice(&values[..row.len()]);
            }
        }
    }
}

/// Computes the gradients of channels of images. Returns those of the weights and of the bias of each.
struct Backward<'a> {
    planes: &'a Planes,
    weight: &'a [f32],
    x: &'a [f32],
    grad: &'a [f32],
    output: &'a mut [f32],
    first: usize,
}

impl WithSimd for Backward<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let (planes, window) = (self.planes, self.planes.window);
        let lead = planes.lead;
        let mut source = planes.source();
        let mut slopes = vec![0.0; lead + planes.size + LANES];
        let size = planes.size.next_multiple_of(LANES);
        let mut spread = vec![0.0; window.stride * size];
        let mut taps = Vec::with_capacity(window.taps());
        let channels = self.weight.len() / window.taps();
        let outputs = self.output.chunks_exact_mut(window.pixels());
        let mut found = Vec::with_capacity(outputs.len() * (window.taps() + 1));
        let images = self.x.chunks_exact(window.pixels());
        let images = images.zip(self.grad.chunks_exact(window.places()));
        for (i, ((x, grad), output)) in images.zip(outputs).enumerate() {
            let channel = (self.first + i) % channels;
            planes.split(x, &mut source);
            let grad = grad.chunks_exact(window.output[1]);
            for (row, values) in slopes[lead..].chunks_mut(planes.width).zip(grad) {
                row[..values.len()].copy_from_slice(values);
            }
            let slopes_of = &slopes[lead..lead + planes.length];
            for offsets in planes.offsets.chunks(WEIGHTS) {
                weigh(simd, &source, offsets, slopes_of, &mut found);
            }
            found.push(sum(simd, slopes_of));
            let weights = &self.weight[channel * window.taps()..][..window.taps()];
            for parts in planes.parts.chunks(window.stride) {
                for (part, spread) in parts.iter().zip(spread.chunks_mut(size)) {
                    taps.clear();
                    taps.extend(part.taps.iter().map(|(tap, from)| (*from, weights[*tap])));
                    let length = (part.size[0] * planes.width).next_multiple_of(LANES);
                    filter(simd, &slopes, &taps, 0.0, &mut spread[..length]);
                }
                planes.join(parts, &spread, size, output);
            }
        }
        found
    }
}

/// Computes `shift + sum of weight * source[offset..]` for whole vectors.
#[inline(always)]
fn filter<S: Simd>(simd: S, source: &[f32], taps: &[(usize, f32)], shift: f32, target: &mut [f32]) {
    let (targets, _) = S::as_mut_simd_f32s(target);
    for (i, targets) in targets.chunks_mut(VECTORS).enumerate() {
        let source = &source[i * VECTORS * S::F32_LANES..];
        match targets.len() {
            1 => filter_some::<S, 1>(simd, source, taps, shift, targets),
            2 => filter_some::<S, 2>(simd, source, taps, shift, targets),
            3 => filter_some::<S, 3>(simd, source, taps, shift, targets),
            _ => filter_some::<S, VECTORS>(simd, source, taps, shift, targets),
        }
    }
}

/// Computes `N` vectors.
#[inline(always)]
fn filter_some<S: Simd, const N: usize>(
    simd: S,
    source: &[f32],
    taps: &[(usize, f32)],
    shift: f32,
    targets: &mut [S::f32s],
) {
    let mut sums = [simd.splat_f32s(shift); N];
    for (offset, weight) in taps {
        let weight = simd.splat_f32s(*weight);
        let (values, _) = S::as_simd_f32s(&source[*offset..*offset + N * S::F32_LANES]);
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = simd.mul_add_e_f32s(weight, *value, *sum);
        }
    }
    targets.copy_from_slice(&sums);
}

/// Appends the gradients of some weights, the sums of `source[offset..] * slopes`.
#[inline(always)]
fn weigh<S: Simd>(
    simd: S,
    source: &[f32],
    offsets: &[usize],
    slopes: &[f32],
    found: &mut Vec<f32>,
) {
    match offsets.len() {
        1 => weigh_some::<S, 1>(simd, source, offsets, slopes, found),
        2 => weigh_some::<S, 2>(simd, source, offsets, slopes, found),
        3 => weigh_some::<S, 3>(simd, source, offsets, slopes, found),
        4 => weigh_some::<S, 4>(simd, source, offsets, slopes, found),
        5 => weigh_some::<S, 5>(simd, source, offsets, slopes, found),
        6 => weigh_some::<S, 6>(simd, source, offsets, slopes, found),
        7 => weigh_some::<S, 7>(simd, source, offsets, slopes, found),
        8 => weigh_some::<S, 8>(simd, source, offsets, slopes, found),
        _ => weigh_some::<S, WEIGHTS>(simd, source, offsets, slopes, found),
    }
}

/// Appends the gradients of `N` weights.
#[inline(always)]
fn weigh_some<S: Simd, const N: usize>(
    simd: S,
    source: &[f32],
    offsets: &[usize],
    slopes: &[f32],
    found: &mut Vec<f32>,
) {
    let (slopes, _) = S::as_simd_f32s(slopes);
    // Slices of a known length need no check in the loop.
    let values: [&[S::f32s]; N] =
        std::array::from_fn(|n| &S::as_simd_f32s(&source[offsets[n]..]).0[..slopes.len()]);
    let mut sums = [simd.splat_f32s(0.0); N];
    for (i, slope) in slopes.iter().enumerate() {
        for (sum, values) in sums.iter_mut().zip(&values) {
            *sum = simd.mul_add_e_f32s(values[i], *slope, *sum);
        }
    }
    for sum in sums {
        found.push(simd.reduce_sum_f32s(sum));
    }
}

/// Computes the sum of whole vectors.
#[inline(always)]
fn sum<S: Simd>(simd: S, values: &[f32]) -> f32 {
    let mut sum = simd.splat_f32s(0.0);
    for values in S::as_simd_f32s(values).0 {
        sum = simd.add_f32s(sum, *values);
    }
    simd.reduce_sum_f32s(sum)
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
            (1, 2, [4, 1], 3, 3, (1, 1)),
            (2, 1, [1, 2], 2, 4, (1, 3)),
            (1, 1, [3, 1], 1, 2, (0, 0)),
            (1, 2, [9, 40], 5, 2, (0, 3)),
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
