//! Depthwise convolution: each channel has its own kernel.
//!
//! Some channels are filtered before the next ones: their rows of the image, with the padding, are
//! copied to a place where they stay in the first-level cache, so that each value is read from the
//! image once.

use pulp::{Arch, Simd, WithSimd};

use crate::activation::Activation;
use crate::padding::same_padding;
use crate::panel::{PANEL, PanelRow, padded};
use crate::scratch::Scratch;
use crate::sides::{ImageRows, Sides, Window};
use crate::threads::for_pieces;
use crate::vectors;

/// A depthwise convolution with TensorFlow's SAME padding and a bias.
#[derive(Clone, Debug)]
pub struct Depthwise {
    window: Window,
    channels: usize,
    /// `[panels, rows of the kernel, columns of the kernel]`
    weight: Vec<PanelRow>,
    /// One element for each panel.
    bias: Vec<PanelRow>,
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
        let channels = bias.len();
        let mut panels = Vec::with_capacity(channels.div_ceil(PANEL) * kernel * kernel);
        for first in (0..channels).step_by(PANEL) {
            for tap in 0..kernel * kernel {
                let mut row = PanelRow::default();
                for (slot, c) in row.0.iter_mut().zip(first..channels) {
                    *slot = weight(c, tap / kernel, tap % kernel);
                }
                panels.push(row);
            }
        }
        Self {
            window: Window {
                kernel,
                stride: stride.max(1),
            },
            channels,
            weight: panels,
            bias: padded(bias),
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
        let Window { kernel, stride } = self.window;
        let (out, channels) = (sides.after(stride), self.channels);
        let products = out.pixels() * channels * kernel * kernel;
        let input = ImageRows {
            values: input,
            before: 0,
            channels,
            above: 0,
            sides,
        };
        for_pieces(
            output,
            out.width * channels,
            1,
            products,
            |first, output| {
                self.apply_rows(input, first, activation, output);
            },
        );
    }

    /// Computes rows of the output, from `first` on, in one thread. The input has at least the
    /// [`input_rows`](Window::input_rows), and the channels of the output.
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
        let Window { kernel, stride } = self.window;
        let after = input.sides.after(stride);
        if after.width * input.channels == 0 {
            return;
        }
        let columns = (after.width - 1) * stride + kernel;
        let mut lines = Scratch::new(kernel * columns);
        // The columns of the padding stay zero.
        lines.fill(PanelRow::default());
        Arch::new().dispatch(Filter {
            layer: self,
            input,
            first,
            activation,
            output,
            columns,
            lines,
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
    /// Columns of the image and of the padding.
    columns: usize,
    /// The rows under the window, `[kernel, columns]`, for the channels of a panel. A row has the
    /// place of its index modulo `kernel`, counted from the first row of the padding.
    lines: Scratch<PanelRow>,
}

impl WithSimd for Filter<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.layer.window.kernel, self.layer.window.stride) {
            (3, 1) => self.filter::<S, 3, 1>(simd),
            // The page is to be small; of the default model only a layer of 3x3 filters floats.
            _ if cfg!(target_arch = "wasm32") => self.filter::<S, 0, 0>(simd),
            (3, 2) => self.filter::<S, 3, 2>(simd),
            (5, 1) => self.filter::<S, 5, 1>(simd),
            (5, 2) => self.filter::<S, 5, 2>(simd),
            _ => self.filter::<S, 0, 0>(simd),
        }
    }
}

impl Filter<'_> {
    /// `K` and `STRIDE` are the window, or 0 for one that is known at run time only.
    #[inline(always)]
    fn filter<S: Simd, const K: usize, const STRIDE: usize>(mut self, simd: S) {
        let Window { kernel, stride } = self.layer.window;
        let length = self.input.sides.after(stride).width * self.input.channels;
        let rows = self.output.len() / length;
        for panel in 0..self.input.channels.div_ceil(PANEL) {
            let mut next = 0;
            for row in 0..rows {
                let top = (self.first + row) * stride;
                for row in top.max(next)..top + kernel {
                    self.copy(row, panel);
                }
                next = top + kernel;
                self.row::<S, K, STRIDE>(simd, panel, top, row * length);
            }
        }
    }

    /// Copies a row, counted from the first row of the padding.
    #[inline(always)]
    fn copy(&mut self, row: usize, panel: usize) {
        let ImageRows {
            values,
            channels,
            above,
            sides: Sides { height, width },
            ..
        } = self.input;
        let Window { kernel, stride } = self.layer.window;
        let top = same_padding(height, kernel, stride).0;
        let left = same_padding(width, kernel, stride).0;
        let from = panel * PANEL;
        let line = &mut self.lines[row % kernel * self.columns..][..self.columns];
        let line = &mut line[left..];
        let line_length = line.len().min(width);
        let line = &mut line[..line_length];
        let Some(row) = row.checked_sub(top).filter(|row| *row < height) else {
            line.fill(PanelRow::default());
            return;
        };
        let pixels = &values[(row - above) * width * channels..][..width * channels];
        let pixels = pixels.chunks_exact(channels).map(|pixel| &pixel[from..]);
        for (pixel, values) in line.iter_mut().zip(pixels) {
            match values.first_chunk::<PANEL>() {
                Some(values) => pixel.0 = *values,
                None => pixel.0[..values.len()].copy_from_slice(values),
            }
        }
    }

    /// Computes a row of the output for the channels of a panel.
    #[inline(always)]
    fn row<S: Simd, const K: usize, const STRIDE: usize>(
        &mut self,
        simd: S,
        panel: usize,
        top: usize,
        output: usize,
    ) {
        let width = self.input.sides.after(self.layer.window.stride).width;
        let mut x = 0;
        while x < width {
            let tile = Tile {
                panel,
                top,
                x,
                output: output + x * self.input.channels,
            };
            // The sums of more neighbours do not fit into the registers of small vectors.
            x += match width - x {
                8.. if S::F32_LANES >= 8 => self.tile::<S, K, STRIDE, 8>(simd, tile),
                4.. => self.tile::<S, K, STRIDE, 4>(simd, tile),
                2.. => self.tile::<S, K, STRIDE, 2>(simd, tile),
                _ => self.tile::<S, K, STRIDE, 1>(simd, tile),
            };
        }
    }

    /// Computes `N` neighbouring pixels; returns `N`.
    #[inline(always)]
    fn tile<S: Simd, const K: usize, const STRIDE: usize, const N: usize>(
        &mut self,
        simd: S,
        tile: Tile,
    ) -> usize {
        let (kernel, stride) = match K {
            0 => (self.layer.window.kernel, self.layer.window.stride),
            _ => (K, STRIDE),
        };
        let channels = self.input.channels;
        let from = tile.panel * PANEL;
        let used = (channels - from).min(PANEL).div_ceil(S::F32_LANES);
        let panel = self.input.before / PANEL + tile.panel;
        let weights = &self.layer.weight[panel * kernel * kernel..][..kernel * kernel];
        let bias = S::as_simd_f32s(&self.layer.bias[panel].0).0;
        for (vector, bias) in bias.iter().enumerate().take(used) {
            let mut sums = [*bias; N];
            for row in 0..kernel {
                let line = (tile.top + row) % kernel * self.columns + tile.x * stride;
                let line = &self.lines[line..][..(N - 1) * stride + kernel];
                let weights = &weights[row * kernel..][..kernel];
                for (tap, weights) in weights.iter().enumerate() {
                    let weight = S::as_simd_f32s(&weights.0).0[vector];
                    for (index, sum) in sums.iter_mut().enumerate() {
                        let x = S::as_simd_f32s(&line[index * stride + tap].0).0[vector];
                        *sum = simd.mul_add_e_f32s(x, weight, *sum);
                    }
                }
            }
            self.activation.apply(simd, &mut sums);
            let pixels = self.output[tile.output..].chunks_exact_mut(channels);
            for (sum, pixel) in sums.into_iter().zip(pixels) {
                let target = &mut pixel[from + vector * S::F32_LANES..];
                vectors::store(simd, target, [sum]);
            }
        }
        N
    }
}

/// Neighbouring pixels of the output.
struct Tile {
    /// Index among the panels of the input.
    panel: usize,
    /// First row under the window, counted from the first row of the padding.
    top: usize,
    /// Column of the first pixel.
    x: usize,
    /// Place of the first pixel in the output.
    output: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_values::value;

    /// Returns the sum of one output by its definition.
    fn naive(
        layer: &Depthwise,
        input: &[f32],
        sides: Sides,
        (y, x, c): (usize, usize, usize),
    ) -> f64 {
        let (k, channels) = (layer.window.kernel, layer.channels);
        let stride = layer.window.stride;
        let top = same_padding(sides.height, k, stride).0;
        let left = same_padding(sides.width, k, stride).0;
        let mut sum = f64::from(layer.bias[c / PANEL].0[c % PANEL]);
        for (ky, kx) in (0..k).flat_map(|ky| (0..k).map(move |kx| (ky, kx))) {
            let (py, px) = (y * stride + ky, x * stride + kx);
            let inside = py >= top && px >= left;
            if inside && py - top < sides.height && px - left < sides.width {
                let pixel = (py - top) * sides.width + px - left;
                let weight = layer.weight[(c / PANEL * k + ky) * k + kx].0[c % PANEL];
                sum += f64::from(input[pixel * channels + c]) * f64::from(weight);
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_plain_loop(
            height in 1_usize..9,
            width in 1_usize..20,
            channels in 1_usize..70,
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
