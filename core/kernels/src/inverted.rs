//! Inverted residuals: expansion, depthwise convolution and projection, strip by strip.

use std::ops::Range;

use crate::activation::Activation;
use crate::depthwise::{Depthwise, ImageRows, Sides};
use crate::product::PackedWeights;
use crate::threads::{for_pieces, threads};

/// Number of expanded values that are computed before they are filtered: they stay in the cache of
/// a core, and the whole expanded image, often the largest of the network, is never stored.
const STRIP: usize = 1 << 16;

/// Number of expanded values up to which several threads compute one layer after the other.
const SMALL: usize = 1 << 16;

/// A block of MobileNetV2 and EfficientNet, with folded norms and ReLU6.
#[derive(Clone, Debug)]
pub struct InvertedResidual {
    /// Widens each pixel; without it the input is filtered as it is.
    pub expand: Option<PackedWeights>,
    /// Filters each channel of the expanded image.
    pub depthwise: Depthwise,
    /// Narrows each pixel, without a non-linearity.
    pub project: PackedWeights,
    /// Whether the input is added to the output; both have the same shape then.
    pub adds_input: bool,
}

impl InvertedResidual {
    /// Computes the block; returns the output and its sides.
    ///
    /// # Shapes
    /// `[height, width, channels] -> [rows, columns, outputs]`
    ///
    /// # Panics
    /// If the input is shorter than its shape.
    #[must_use]
    pub fn apply(&self, input: &[f32], sides: Sides) -> (Vec<f32>, Sides) {
        // Two threads with neighbouring strips both expand the rows in between. In a small image
        // these are too many.
        if threads() > 1 && sides.pixels() * self.project.inputs() <= SMALL {
            return self.apply_layers(input, sides);
        }
        let after = self.depthwise.after(sides);
        let line = after.width * self.project.outputs();
        let mut output = vec![0.0; after.height * line];
        let expanding = self.expand.as_ref().map_or(0, |w| w.inputs() * w.outputs());
        let projecting = self.project.inputs() * self.project.outputs();
        let products = sides.pixels() * expanding + after.pixels() * projecting;
        for_pieces(&mut output, line, 1, products, |first, output| {
            self.apply_rows(input, sides, first, output);
        });
        (output, after)
    }

    /// Computes one layer after the other.
    fn apply_layers(&self, input: &[f32], sides: Sides) -> (Vec<f32>, Sides) {
        let wide = self.expand.as_ref().map(|expand| {
            let mut wide = vec![0.0; sides.pixels() * expand.outputs()];
            expand.apply(input, None, Activation::Relu6, &mut wide);
            wide
        });
        let wide = wide.as_deref().unwrap_or(input);
        let after = self.depthwise.after(sides);
        let mut filtered = vec![0.0; after.pixels() * self.project.inputs()];
        self.depthwise
            .apply(wide, sides, Activation::Relu6, &mut filtered);
        let mut output = vec![0.0; after.pixels() * self.project.outputs()];
        let skip = self.adds_input.then_some(input);
        self.project
            .apply(&filtered, skip, Activation::None, &mut output);
        (output, after)
    }

    /// Computes the rows of the output from `first` on.
    fn apply_rows(&self, input: &[f32], sides: Sides, first: usize, output: &mut [f32]) {
        let after = self.depthwise.after(sides);
        let line = after.width * self.project.outputs();
        let inner = self.project.inputs();
        let rows = self.rows_of_a_strip(sides, output.len() / line.max(1));
        let mut filtered = vec![0.0; rows * after.width * inner];
        let mut wide = Expanded::default();
        for (index, output) in output.chunks_mut((rows * line).max(1)).enumerate() {
            let start = first + index * rows;
            let rows = start..start + output.len() / line;
            let filtered = &mut filtered[..rows.len() * after.width * inner];
            let (above, values) = match &self.expand {
                None => (0, input),
                Some(expand) => {
                    let needed = self.depthwise.input_rows(sides, rows);
                    wide.compute(expand, input, sides.width, needed);
                    (wide.rows.start, &wide.values[..])
                }
            };
            let expanded = ImageRows {
                values,
                above,
                sides,
            };
            self.depthwise
                .apply_rows(expanded, start, Activation::Relu6, filtered);
            let skip = self.adds_input.then(|| &input[start * line..]);
            self.project.apply(filtered, skip, Activation::None, output);
        }
    }

    /// Returns the number of rows of the output in a strip, of `rows` in all.
    fn rows_of_a_strip(&self, sides: Sides, rows: usize) -> usize {
        let line = (sides.width * self.project.inputs()).max(1);
        let most = (STRIP / line / self.depthwise.stride()).max(1);
        // Strips of similar sizes.
        rows.div_ceil(rows.div_ceil(most).max(1)).max(1)
    }
}

/// Rows of the expanded image.
#[derive(Default)]
struct Expanded {
    rows: Range<usize>,
    /// The rows, and values of former ones.
    values: Vec<f32>,
}

impl Expanded {
    /// Replaces the rows by later ones. Those that it already holds are kept.
    fn compute(&mut self, expand: &PackedWeights, input: &[f32], width: usize, rows: Range<usize>) {
        let line = width * expand.outputs();
        let dropped = rows.start.min(self.rows.end) - self.rows.start;
        self.values
            .copy_within(dropped * line..self.rows.len() * line, 0);
        if self.values.len() < rows.len() * line {
            self.values.resize(rows.len() * line, 0.0);
        }
        let known = self.rows.end.clamp(rows.start, rows.end);
        let input = &input[known * width * expand.inputs()..rows.end * width * expand.inputs()];
        let target = &mut self.values[(known - rows.start) * line..rows.len() * line];
        expand.apply(input, None, Activation::Relu6, target);
        self.rows = rows;
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

    fn linear(inputs: usize, outputs: usize) -> PackedWeights {
        let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
        PackedWeights::new(inputs, &bias, |o, i| value(o * 41 + i))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn strips_give_the_values_of_whole_layers(
            height in 1_usize..40,
            width in 1_usize..40,
            kernel in prop::sample::select(vec![1_usize, 3, 5, 7]),
            stride in 1_usize..4,
            expands: bool,
        ) {
            // Wide enough for several strips.
            let (channels, inner) = (6, if expands { 300 } else { 6 });
            let sides = Sides { height, width };
            let bias: Vec<f32> = (0..inner).map(value).collect();
            let block = InvertedResidual {
                expand: expands.then(|| linear(channels, inner)),
                depthwise: Depthwise::new(kernel, stride, &bias, |c, y, x| {
                    value(c * 100 + y * 10 + x)
                }),
                project: linear(inner, channels),
                adds_input: stride == 1,
            };
            let input: Vec<f32> = (0..sides.pixels() * channels).map(value).collect();
            let (expected, after) = block.apply_layers(&input, sides);
            prop_assert_eq!(after, sides.after(stride));
            prop_assert_eq!(&block.apply(&input, sides).0, &expected);
            // In one piece, and the lower half of the rows alone.
            let line = after.width * channels;
            for first in [0, after.height / 2] {
                let mut rows = vec![f32::NAN; (after.height - first) * line];
                block.apply_rows(&input, sides, first, &mut rows);
                prop_assert_eq!(&rows[..], &expected[first * line..]);
            }
        }
    }
}
