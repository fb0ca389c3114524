//! Depthwise convolution: each channel has its own kernel.

use pulp::{Arch, Simd, WithSimd};

use crate::activation::Activation;
use crate::padding::same_padding;
use crate::threads::for_pieces;

/// A depthwise convolution with TensorFlow's SAME padding and a bias.
#[derive(Clone, Debug)]
pub struct Depthwise {
    kernel: usize,
    stride: usize,
    /// `[kernel, kernel, channels]`
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// Rows and columns of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Sides {
    /// Returns the sides after a convolution with SAME padding.
    #[must_use]
    pub fn after(self, stride: usize) -> Self {
        Self {
            height: self.height.div_ceil(stride),
            width: self.width.div_ceil(stride),
        }
    }

    /// Returns the number of pixels.
    #[must_use]
    pub fn pixels(self) -> usize {
        self.height * self.width
    }
}

impl Depthwise {
    /// Arranges `weight(channel, row, column)` and a bias with one value for each channel. The
    /// stride is at least 1.
    #[must_use]
    pub fn new(
        kernel: usize,
        stride: usize,
        bias: &[f32],
        weight: impl Fn(usize, usize, usize) -> f32,
    ) -> Self {
        let taps = (0..kernel * kernel).flat_map(|tap| (0..bias.len()).map(move |c| (tap, c)));
        Self {
            kernel,
            stride: stride.max(1),
            weight: taps
                .map(|(tap, c)| weight(c, tap / kernel, tap % kernel))
                .collect(),
            bias: bias.to_vec(),
        }
    }

    /// Computes the convolution and the activation of an image.
    ///
    /// # Shapes
    /// `input [height, width, channels]`,
    /// `output [ceil(height / stride), ceil(width / stride), channels]`
    ///
    /// # Panics
    /// If a slice is shorter than its shape.
    pub fn apply(&self, input: &[f32], sides: Sides, activation: Activation, output: &mut [f32]) {
        if self.bias.is_empty() {
            return;
        }
        let (out, channels) = (sides.after(self.stride), self.bias.len());
        let products = out.pixels() * self.weight.len();
        for_pieces(
            output,
            out.width * channels,
            1,
            products,
            |first, output| {
                Arch::new().dispatch(Filter {
                    layer: self,
                    input,
                    sides,
                    first,
                    activation,
                    output,
                });
            },
        );
    }
}

/// The arguments of [`Depthwise::apply`].
struct Filter<'a> {
    layer: &'a Depthwise,
    input: &'a [f32],
    sides: Sides,
    /// Row of the output that `output` begins with.
    first: usize,
    activation: Activation,
    output: &'a mut [f32],
}

impl WithSimd for Filter<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // A constant size lets the compiler unroll the loops over the kernel.
        match self.layer.kernel {
            3 => self.filter::<S, 3>(simd, 3),
            5 => self.filter::<S, 5>(simd, 5),
            kernel => self.filter::<S, 0>(simd, kernel),
        }
    }
}

impl Filter<'_> {
    /// `K` is the side of the kernel if it is known at compile time, else 0.
    #[inline(always)]
    fn filter<S: Simd, const K: usize>(self, simd: S, kernel: usize) {
        let kernel = if K == 0 { kernel } else { K };
        let (channels, stride) = (self.layer.bias.len(), self.layer.stride);
        let Sides { height, width } = self.sides;
        let top = same_padding(height, kernel, stride).0;
        let left = same_padding(width, kernel, stride).0;
        let out = self.sides.after(stride);
        let rows = self.output.chunks_exact_mut(out.width * channels);
        for (y, row) in (self.first..out.height).zip(rows) {
            for (x, pixel) in row.chunks_exact_mut(channels).enumerate() {
                let window = Window {
                    rows: clipped(y * stride, top, kernel, height),
                    columns: clipped(x * stride, left, kernel, width),
                };
                if window.is_full(kernel) {
                    let from = (window.rows.1 * width + window.columns.1) * channels;
                    let source = &self.input[from..];
                    full::<S, K>(simd, self.layer, source, width, self.activation, pixel);
                } else {
                    partial(self.layer, self.input, width, window, pixel);
                    let values = pixel.iter_mut();
                    values.for_each(|v| *v = self.activation.apply_one(*v));
                }
            }
        }
    }
}

/// Part of a kernel that lies inside the image, by rows and columns: first tap, first pixel, number
/// of taps.
#[derive(Clone, Copy)]
struct Window {
    rows: (usize, usize, usize),
    columns: (usize, usize, usize),
}

impl Window {
    fn is_full(self, kernel: usize) -> bool {
        self.rows.2 == kernel && self.columns.2 == kernel
    }
}

/// Clips the taps `[start - padding, start - padding + kernel)` to `[0, side)`.
#[inline(always)]
fn clipped(start: usize, padding: usize, kernel: usize, side: usize) -> (usize, usize, usize) {
    let skipped = padding.saturating_sub(start);
    let first = (start + skipped).saturating_sub(padding);
    let taps = (kernel - skipped.min(kernel)).min(side.saturating_sub(first));
    (skipped, first, taps)
}

/// A pixel whose window lies inside the image; `source` starts at the first pixel of the window.
#[inline(always)]
fn full<S: Simd, const K: usize>(
    simd: S,
    layer: &Depthwise,
    source: &[f32],
    width: usize,
    activation: Activation,
    pixel: &mut [f32],
) {
    let kernel = if K == 0 { layer.kernel } else { K };
    let channels = pixel.len();
    let (targets, rest) = S::as_mut_simd_f32s(pixel);
    let whole = channels - rest.len();
    let biases = S::as_simd_f32s(&layer.bias).0;
    for (index, (target, bias)) in targets.iter_mut().zip(biases).enumerate() {
        let channel = index * S::F32_LANES;
        let mut sum = *bias;
        for ky in 0..kernel {
            for kx in 0..kernel {
                let x = &source[(ky * width + kx) * channels + channel..][..S::F32_LANES];
                let w = &layer.weight[(ky * kernel + kx) * channels + channel..][..S::F32_LANES];
                let (x, w) = (S::as_simd_f32s(x).0[0], S::as_simd_f32s(w).0[0]);
                sum = simd.mul_add_e_f32s(x, w, sum);
            }
        }
        *target = activation.apply(simd, sum);
    }
    for (target, channel) in rest.iter_mut().zip(whole..) {
        let mut sum = layer.bias[channel];
        for ky in 0..kernel {
            for kx in 0..kernel {
                let tap = (ky * kernel + kx) * channels + channel;
                sum += source[(ky * width + kx) * channels + channel] * layer.weight[tap];
            }
        }
        *target = activation.apply_one(sum);
    }
}

/// A pixel whose window reaches over an edge.
fn partial(layer: &Depthwise, input: &[f32], width: usize, window: Window, pixel: &mut [f32]) {
    let channels = pixel.len();
    pixel.copy_from_slice(&layer.bias);
    let (first_row, y, rows) = window.rows;
    let (first_column, x, columns) = window.columns;
    for ky in 0..rows {
        for kx in 0..columns {
            let tap = (first_row + ky) * layer.kernel + first_column + kx;
            let source = &input[((y + ky) * width + x + kx) * channels..][..channels];
            let weight = &layer.weight[tap * channels..][..channels];
            for ((sum, x), w) in pixel.iter_mut().zip(source).zip(weight) {
                *sum += x * w;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A fixed value between -1 and 1 for a position.
    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// The sum of one output by its definition.
    fn naive(
        layer: &Depthwise,
        input: &[f32],
        sides: Sides,
        (y, x, c): (usize, usize, usize),
    ) -> f64 {
        let (k, channels) = (layer.kernel, layer.bias.len());
        let top = same_padding(sides.height, k, layer.stride).0;
        let left = same_padding(sides.width, k, layer.stride).0;
        let mut sum = f64::from(layer.bias[c]);
        for (ky, kx) in (0..k).flat_map(|ky| (0..k).map(move |kx| (ky, kx))) {
            let (py, px) = (y * layer.stride + ky, x * layer.stride + kx);
            let inside = py >= top && px >= left;
            if inside && py - top < sides.height && px - left < sides.width {
                let pixel = (py - top) * sides.width + px - left;
                let weight = layer.weight[(ky * k + kx) * channels + c];
                sum += f64::from(input[pixel * channels + c]) * f64::from(weight);
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_plain_loop(
            height in 1_usize..9,
            width in 1_usize..9,
            channels in 1_usize..21,
            kernel in prop::sample::select(vec![1_usize, 3, 5, 7]),
            stride in 1_usize..4,
        ) {
            let sides = Sides { height, width };
            let bias: Vec<f32> = (0..channels).map(value).collect();
            let layer = Depthwise::new(kernel, stride, &bias, |c, y, x| {
                value(c * 100 + y * 10 + x)
            });
            let input: Vec<f32> = (0..sides.pixels() * channels).map(|i| value(i + 3)).collect();
            let out = sides.after(stride);
            let mut output = vec![f32::NAN; out.pixels() * channels];
            layer.apply(&input, sides, Activation::None, &mut output);
            for (index, found) in output.iter().enumerate() {
                let (pixel, c) = (index / channels, index % channels);
                let place = (pixel / out.width, pixel % out.width, c);
                let expected = naive(&layer, &input, sides, place);
                prop_assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} {expected}");
            }
        }
    }

    #[test]
    fn numbers_that_are_not_finite_stay_in_their_channel() {
        let layer = Depthwise::new(3, 1, &[0.0; 9], |_, _, _| 1.0);
        let sides = Sides {
            height: 3,
            width: 3,
        };
        let mut input = vec![1.0; 81];
        input[4 * 9] = f32::NAN;
        input[4 * 9 + 8] = f32::NEG_INFINITY;
        let mut output = vec![0.5; 81];
        layer.apply(&input, sides, Activation::Relu6, &mut output);
        for pixel in output.chunks(9) {
            assert!(pixel[0].is_nan());
            assert_eq!(pixel[8], 0.0);
            assert!(pixel[1..8].iter().all(|v| *v >= 4.0));
        }
    }
}
