//! Depthwise convolution: each channel has its own kernel.

use pulp::{Arch, Simd, WithSimd};

use crate::activation::Activation;
use crate::padding::{Span, same_padding};
use crate::sides::{ImageRows, Sides, Window};
use crate::taps::{NEIGHBOURS, Taps};
use crate::threads::for_pieces;

/// A depthwise convolution with TensorFlow's SAME padding and a bias.
#[derive(Clone, Debug)]
pub struct Depthwise {
    window: Window,
    /// `[kernel, kernel, channels]`
    weight: Vec<f32>,
    bias: Vec<f32>,
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
            window: Window {
                kernel,
                stride: stride.max(1),
            },
            weight: taps
                .map(|(tap, c)| weight(c, tap / kernel, tap % kernel))
                .collect(),
            bias: bias.to_vec(),
        }
    }

    /// Returns the window.
    pub(crate) fn window(&self) -> Window {
        self.window
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
        let (out, channels) = (sides.after(self.window.stride), self.bias.len());
        let products = out.pixels() * self.weight.len();
        let line = out.width * channels;
        let input = ImageRows {
            values: input,
            above: 0,
            sides,
        };
        for_pieces(output, line, 1, products, |first, output| {
            self.apply_rows(input, first, activation, output);
        });
    }

    /// Computes rows of the output, from `first` on, in one thread. The input has at least the
    /// [`input_rows`](Window::input_rows).
    ///
    /// # Shapes
    /// `output [rows, ceil(width / stride), channels]`
    ///
    /// # Panics
    /// If the input has too few rows.
    pub(crate) fn apply_rows(
        &self,
        input: ImageRows<'_, f32>,
        first: usize,
        activation: Activation,
        output: &mut [f32],
    ) {
        if self.bias.is_empty() {
            return;
        }
        Arch::new().dispatch(Filter {
            layer: self,
            input,
            first,
            activation,
            output,
        });
    }
}

/// The arguments of [`Depthwise::apply_rows`].
struct Filter<'a> {
    layer: &'a Depthwise,
    input: ImageRows<'a, f32>,
    /// Row of the output that `output` begins with.
    first: usize,
    activation: Activation,
    output: &'a mut [f32],
}

impl WithSimd for Filter<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.layer.window.kernel, self.layer.window.stride) {
            (3, 1) => self.filter::<S, 3, 1>(simd),
            (3, 2) => self.filter::<S, 3, 2>(simd),
            (5, 1) => self.filter::<S, 5, 1>(simd),
            (5, 2) => self.filter::<S, 5, 2>(simd),
            _ => self.filter::<S, 0, 0>(simd),
        }
    }
}

impl Filter<'_> {
    /// `K` is the side of the kernel and `STRIDE` the stride if neighbouring pixels can be computed
    /// together, else both are 0.
    #[inline(always)]
    fn filter<S: Simd, const K: usize, const STRIDE: usize>(self, simd: S) {
        let Window { kernel, stride } = self.layer.window;
        let channels = self.layer.bias.len();
        let ImageRows {
            values,
            above,
            sides,
        } = self.input;
        let Sides { height, width } = sides;
        let top = same_padding(height, kernel, stride).0;
        let left = same_padding(width, kernel, stride).0;
        let out = sides.after(stride);
        let lines = self.output.chunks_exact_mut(out.width * channels);
        for (y, line) in (self.first..out.height).zip(lines) {
            for sums in line.chunks_exact_mut(channels) {
                sums.copy_from_slice(&self.layer.bias);
            }
            // SAME padding leaves at least one row and one column of each window inside the image.
            let rows = Span::clipped(y * stride, top, kernel, height);
            for row in 0..rows.count {
                let source = &values[(rows.pixel + row - above) * width * channels..];
                let weights = &self.layer.weight[(rows.tap + row) * kernel * channels..];
                let is_last = row + 1 == rows.count;
                let mut x = 0;
                while x < out.width {
                    let columns = Span::clipped(x * stride, left, kernel, width);
                    let taps = Taps {
                        source: &source[columns.pixel * channels..],
                        weights: &weights[columns.tap * channels..],
                        channels,
                        activation: is_last.then_some(self.activation),
                    };
                    let sums = &mut line[x * channels..];
                    let fits = |neighbours: usize| {
                        let end = (x + neighbours - 1) * stride + kernel;
                        end <= left + width && x + neighbours <= out.width
                    };
                    let is_whole = K > 0 && columns.count == kernel;
                    if is_whole && fits(NEIGHBOURS) {
                        taps.add::<S, K, STRIDE, NEIGHBOURS>(simd, sums);
                        x += NEIGHBOURS;
                    } else if is_whole && fits(2) {
                        taps.add::<S, K, STRIDE, 2>(simd, sums);
                        x += 2;
                    } else {
                        taps.add_to_one(simd, columns.count, sums);
                        x += 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a fixed value between -1 and 1 for a position.
    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// Returns the sum of one output by its definition.
    fn naive(
        layer: &Depthwise,
        input: &[f32],
        sides: Sides,
        (y, x, c): (usize, usize, usize),
    ) -> f64 {
        let (k, channels) = (layer.window.kernel, layer.bias.len());
        let stride = layer.window.stride;
        let top = same_padding(sides.height, k, stride).0;
        let left = same_padding(sides.width, k, stride).0;
        let mut sum = f64::from(layer.bias[c]);
        for (ky, kx) in (0..k).flat_map(|ky| (0..k).map(move |kx| (ky, kx))) {
            let (py, px) = (y * stride + ky, x * stride + kx);
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
