//! Dense convolution as a product: each output pixel is a row of input values times the weights.

use crate::activation::Activation;
use crate::padding::{Span, same_padding};
use crate::product::PackedWeights;
use crate::sides::Sides;
use crate::threads::for_pieces;

/// Values of a row of the kernels of most first layers: three pixels of three channels.
const STEM_ROW: usize = 9;

/// Zeros around the input of a convolution. The output has `ceil(side / stride)` rows and columns
/// either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// TensorFlow's SAME: as many as are needed, the odd one behind.
    Same,
    /// Half of the kernel before the first row and column.
    Half,
}

impl Padding {
    /// Returns the number of zeros before the first row or column.
    fn before(self, side: usize, kernel: usize, stride: usize) -> usize {
        match self {
            Self::Same => same_padding(side, kernel, stride).0,
            Self::Half => kernel / 2,
        }
    }
}

/// A dense convolution with a bias.
#[derive(Clone, Debug)]
pub struct Patches {
    kernel: usize,
    stride: usize,
    channels: usize,
    padding: Padding,
    /// Input values in the order row, column, channel of the kernel.
    weights: PackedWeights,
}

impl Patches {
    /// Arranges `weight(output, input, row, column)` for an image of `channels`, and a bias with
    /// one value for each output. The stride is at least 1.
    #[must_use]
    pub fn new(
        kernel: usize,
        stride: usize,
        channels: usize,
        bias: &[f32],
        weight: impl Fn(usize, usize, usize, usize) -> f32,
    ) -> Self {
        let inputs = kernel * kernel * channels;
        let weights = PackedWeights::new(inputs, bias, |output, index| {
            let (tap, channel) = (index / channels, index % channels);
            weight(output, channel, tap / kernel, tap % kernel)
        });
        Self {
            kernel,
            stride: stride.max(1),
            channels,
            padding: Padding::Same,
            weights,
        }
    }

    /// Returns the convolution with another padding.
    #[must_use]
    pub fn with_padding(self, padding: Padding) -> Self {
        Self { padding, ..self }
    }

    /// Returns the number of channels of the output.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.weights.outputs()
    }

    /// Returns the sides of the output.
    #[must_use]
    pub fn after(&self, sides: Sides) -> Sides {
        sides.after(self.stride)
    }

    /// Returns the number of multiplications of an image.
    pub(crate) fn products(&self, sides: Sides) -> usize {
        self.after(sides).pixels() * self.weights.inputs() * self.weights.outputs()
    }

    /// Computes `activation(convolution(input) + bias) + skip` of an image.
    ///
    /// # Shapes
    /// `input [height, width, channels]`,
    /// `skip` and `output [ceil(height / stride), ceil(width / stride), outputs]`
    ///
    /// # Panics
    /// If the input or `skip` is shorter than its shape.
    pub fn apply(
        &self,
        input: &[f32],
        sides: Sides,
        skip: Option<&[f32]>,
        activation: Activation,
        output: &mut [f32],
    ) {
        let line = (sides.after(self.stride).width * self.weights.outputs()).max(1);
        for_pieces(output, line, 1, self.products(sides), |first, output| {
            let skip = skip.map(|skip| &skip[first * line..]);
            self.apply_rows((input, sides), first, skip, activation, output);
        });
    }

    /// Computes rows of the output, from `first` on; `skip` begins with the first.
    pub(crate) fn apply_rows(
        &self,
        (input, sides): (&[f32], Sides),
        first: usize,
        skip: Option<&[f32]>,
        activation: Activation,
        output: &mut [f32],
    ) {
        let out = sides.after(self.stride);
        let line = (out.width * self.weights.outputs()).max(1);
        let mut rows = vec![0.0; out.width * self.weights.inputs()];
        for (index, target) in output.chunks_exact_mut(line).enumerate() {
            self.gather(input, sides, first + index, &mut rows);
            let skip = skip.map(|skip| &skip[index * line..][..line]);
            self.weights.apply(&rows, skip, activation, target);
        }
    }

    /// Copies the input values of one row of output pixels; zeros outside the image.
    fn gather(&self, input: &[f32], sides: Sides, y: usize, rows: &mut [f32]) {
        let (kernel, channels) = (self.kernel, self.channels);
        let top = self.padding.before(sides.height, kernel, self.stride);
        let left = self.padding.before(sides.width, kernel, self.stride);
        let lines = Span::clipped(y * self.stride, top, kernel, sides.height);
        let inside = lines.tap..lines.tap + lines.count;
        let size = kernel * channels;
        let pixels = rows.chunks_exact_mut((kernel * size).max(1));
        for (x, row) in pixels.enumerate() {
            let columns = Span::clipped(x * self.stride, left, kernel, sides.width);
            let (start, length) = (columns.tap * channels, columns.count * channels);
            for (tap, values) in row.chunks_exact_mut(size.max(1)).enumerate() {
                if !inside.contains(&tap) {
                    values.fill(0.0);
                    continue;
                }
                let line = lines.pixel + tap - lines.tap;
                let from = (line * sides.width + columns.pixel) * channels;
                let source = &input[from..from + length];
                // A known length needs no call: most windows lie inside the image.
                if let (Some(values), Some(source)) = (
                    values.as_mut_array::<STEM_ROW>(),
                    source.as_array::<STEM_ROW>(),
                ) {
                    *values = *source;
                    continue;
                }
                values[..start].fill(0.0);
                values[start..start + length].copy_from_slice(source);
                values[start + length..].fill(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_of_ones_sums_the_window() {
        // Side 3 and stride 2: two outputs per side, padded with one pixel on each side.
        let layer = Patches::new(3, 2, 1, &[0.5], |_, _, _, _| 1.0);
        let input: Vec<f32> = (1..=9_u8).map(f32::from).collect();
        let sides = Sides {
            height: 3,
            width: 3,
        };
        let mut output = [0.0; 4];
        layer.apply(&input, sides, None, Activation::None, &mut output);
        assert_eq!(output, [12.5, 16.5, 24.5, 28.5]);
    }

    #[test]
    fn weights_are_taken_by_output_channel_row_and_column() {
        let weight =
            |o: usize, i: usize, y: usize, x: usize| (1000 * o + 100 * i + 10 * y + x) as f32;
        let layer = Patches::new(3, 1, 2, &[0.0, 0.0], weight);
        // One pixel in the middle of the kernel.
        let sides = Sides {
            height: 1,
            width: 1,
        };
        let mut output = [0.0; 2];
        layer.apply(&[1.0, 2.0], sides, None, Activation::None, &mut output);
        assert_eq!(output, [11.0 + 2.0 * 111.0, 1011.0 + 2.0 * 1111.0]);
    }

    #[test]
    fn half_padding_lies_before_and_the_skip_is_added_after_the_activation() {
        // Side 4 and stride 2: SAME would pad behind only.
        let layer = Patches::new(3, 2, 1, &[-20.0], |_, _, _, _| 1.0);
        let layer = layer.with_padding(Padding::Half);
        let input: Vec<f32> = (1..=16_u8).map(f32::from).collect();
        let sides = Sides {
            height: 4,
            width: 4,
        };
        let mut output = [0.0; 4];
        let skip = [0.5; 4];
        layer.apply(&input, sides, Some(&skip), Activation::Relu, &mut output);
        // The windows sum to 14, 30, 57 and 99.
        assert_eq!(output, [0.5, 10.5, 37.5, 79.5]);
    }
}
