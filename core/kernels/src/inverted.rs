//! Inverted residuals: expansion, depthwise convolution and projection, strip by strip.

mod layers;

pub use layers::{ByteLayers, Expansion, FloatLayers};

use std::ops::Range;

use self::layers::Block;
use crate::bytes::{Output, STEP};
use crate::panel::PANEL;
use crate::scratch::{Kept, Scratch};
use crate::sides::{ImageRows, Sides};
use crate::threads::{for_columns, for_pieces, threads};

/// Bytes of expanded values that are computed before they are filtered: they stay in the cache of
/// a core, and the whole expanded image, often the largest of the network, is never stored.
const STRIP: usize = 1 << 18;

/// Number of expanded values up to which threads take channels instead of rows.
const SMALL: usize = 1 << 16;

/// A block of MobileNetV2 and EfficientNet, with folded norms and ReLU6.
#[derive(Clone, Debug)]
pub struct InvertedResidual {
    layers: Layers,
    /// Whether the input is added to the output; both have the same shape then.
    adds_input: bool,
}

#[derive(Clone, Debug)]
enum Layers {
    Floats(FloatLayers),
    Bytes(ByteLayers),
}

impl InvertedResidual {
    /// Creates a block that multiplies floats.
    #[must_use]
    pub fn of_floats(layers: FloatLayers, adds_input: bool) -> Self {
        Self {
            layers: Layers::Floats(layers),
            adds_input,
        }
    }

    /// Creates a block that multiplies bytes.
    #[must_use]
    pub fn of_bytes(layers: ByteLayers, adds_input: bool) -> Self {
        let layers = ByteLayers {
            expand: layers.expand.in_steps_of(STEP),
            ..layers
        };
        Self {
            layers: Layers::Bytes(layers),
            adds_input,
        }
    }

    /// Computes the block; returns the output and its sides.
    ///
    /// # Shapes
    /// `[height, width, channels] -> [rows, columns, outputs]`
    ///
    /// # Panics
    /// If the input is shorter than its shape.
    #[must_use]
    pub fn apply(&self, input: &[f32], sides: Sides) -> (Scratch<f32>, Sides) {
        match &self.layers {
            Layers::Floats(layers) => Image::new(layers, input, sides, self.adds_input).apply(),
            Layers::Bytes(layers) => Image::new(layers, input, sides, self.adds_input).apply(),
        }
    }
}

/// The input of a block.
struct Image<'a, B> {
    block: &'a B,
    input: &'a [f32],
    sides: Sides,
    /// Sides of the expanded image.
    expanded: Sides,
    /// Sides of the output.
    after: Sides,
    adds_input: bool,
}

impl<'a, B: Block> Image<'a, B> {
    fn new(block: &'a B, input: &'a [f32], sides: Sides, adds_input: bool) -> Self {
        let expanded = block.expanded(sides);
        Self {
            block,
            input,
            sides,
            expanded,
            after: expanded.after(block.window().stride),
            adds_input,
        }
    }

    fn apply(&self) -> (Scratch<f32>, Sides) {
        let [inner, outputs] = self.block.channels();
        // Two threads with neighbouring strips both expand the rows in between. In a small image
        // these are too many.
        let is_small = self.expanded.pixels() * inner <= SMALL;
        if threads() > 1 && is_small && self.block.has_channels() {
            return (self.by_channels(), self.after);
        }
        let mut output = Scratch::new(self.after.pixels() * outputs);
        let products = self.block.products(self.sides) + self.after.pixels() * inner * outputs;
        let line = self.after.width * outputs;
        for_pieces(&mut output, line, 1, products, |first, output| {
            self.rows(first, output);
        });
        (output, self.after)
    }

    /// Splits the expansion and the filter between threads by channels: each thread filters the channels
    /// that it expanded.
    fn by_channels(&self) -> Scratch<f32> {
        let [inner, outputs] = self.block.channels();
        let mut filtered = Scratch::new(self.after.pixels() * inner);
        let products = self.block.products(self.sides);
        for_columns(&mut filtered, inner, PANEL, products, |first, pixels| {
            let channels = pixels.first().map_or(0, |pixel| pixel.len());
            let mut values = Scratch::new(self.expanded.pixels() * channels);
            let range = first..first + channels;
            self.block.expand_channels(self.input, range, &mut values);
            let rows = ImageRows {
                values: &values,
                before: first,
                channels,
                above: 0,
                sides: self.expanded,
            };
            let mut part = Scratch::new(pixels.len() * channels);
            self.block.filter(rows, 0, &mut part);
            let part = part.chunks_exact(channels.max(1));
            for (pixel, values) in pixels.into_iter().zip(part) {
                pixel.copy_from_slice(values);
            }
        });
        let mut output = Scratch::new(self.after.pixels() * outputs);
        let skip = self.adds_input.then_some(self.input);
        self.block.project(&filtered, skip, &mut output);
        output
    }

    /// Computes the rows of the output from `first` on.
    fn rows(&self, first: usize, output: &mut [f32]) {
        let [inner, outputs] = self.block.channels();
        let line = self.after.width * outputs;
        let rows = self.rows_of_a_strip(output.len() / line.max(1));
        let mut filtered = Scratch::new(rows * self.after.width * inner);
        let mut expanded = Expanded {
            rows: 0..0,
            values: Scratch::new(0),
        };
        for (index, output) in output.chunks_mut((rows * line).max(1)).enumerate() {
            let start = first + index * rows;
            let rows = start..start + output.len() / line;
            let filtered = &mut filtered[..rows.len() * self.after.width * inner];
            let (above, values) = match self.block.unexpanded(self.input) {
                Some(input) => (0, input),
                None => {
                    let needed = self.block.window().input_rows(self.expanded, rows);
                    expanded.compute(self, needed);
                    (expanded.rows.start, &expanded.values[..])
                }
            };
            let rows = ImageRows {
                values,
                before: 0,
                channels: inner,
                above,
                sides: self.expanded,
            };
            self.block.filter(rows, start, filtered);
            let skip = self.adds_input.then(|| &self.input[start * line..]);
            self.block.project(filtered, skip, output);
        }
    }

    /// Returns the number of rows of the output in a strip, of `rows` in all.
    fn rows_of_a_strip(&self, rows: usize) -> usize {
        let [inner, _] = self.block.channels();
        let line = (self.expanded.width * inner * size_of::<B::Value>()).max(1);
        let most = (STRIP / line / self.block.window().stride).max(1);
        // Strips of similar sizes.
        rows.div_ceil(rows.div_ceil(most).max(1)).max(1)
    }
}

/// Rows of the expanded image.
struct Expanded<T: Kept> {
    rows: Range<usize>,
    /// The rows, and values of former ones.
    values: Scratch<T>,
}

impl<T: Output> Expanded<T> {
    /// Replaces the rows by later ones. Those that it already holds are kept.
    fn compute<B: Block<Value = T>>(&mut self, image: &Image<'_, B>, rows: Range<usize>) {
        let line = image.expanded.width * image.block.channels()[0];
        let dropped = rows.start.min(self.rows.end) - self.rows.start;
        self.values
            .copy_within(dropped * line..self.rows.len() * line, 0);
        if self.values.len() < rows.len() * line {
            self.values.resize(rows.len() * line);
        }
        let known = self.rows.end.clamp(rows.start, rows.end);
        let target = &mut self.values[(known - rows.start) * line..rows.len() * line];
        image.block.expand(image.input, image.sides, known, target);
        self.rows = rows;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::byte_depthwise::ByteDepthwise;
    use crate::depthwise::Depthwise;
    use crate::patches::Patches;
    use crate::product::{ByteWeights, PackedWeights};
    use crate::sides::Window;
    use crate::test_values::value;

    /// Source of the filtered image.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Unexpanded,
        Pixels,
        Window,
    }

    fn floats(channels: usize, inner: usize, kind: Kind, window: Window) -> FloatLayers {
        let linear = |inputs: usize, outputs: usize| {
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            PackedWeights::new(inputs, &bias, |o, i| value(o * 41 + i))
        };
        let bias: Vec<f32> = (0..inner).map(value).collect();
        FloatLayers {
            expand: match kind {
                Kind::Unexpanded => Expansion::None,
                Kind::Pixels => Expansion::Pixels(linear(channels, inner)),
                Kind::Window => {
                    let bias: Vec<f32> = (0..inner).map(value).collect();
                    Expansion::Window(Patches::new(3, 2, channels, &bias, |o, i, y, x| {
                        value(((o * channels + i) * 3 + y) * 3 + x)
                    }))
                }
            },
            depthwise: Depthwise::new(window.kernel, window.stride, &bias, |c, y, x| {
                value(c * 100 + y * 10 + x)
            }),
            project: linear(inner, channels),
        }
    }

    fn bytes(channels: usize, inner: usize, window: Window) -> ByteLayers {
        let linear = |inputs: usize, outputs: usize| {
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            let scales = vec![0.01; outputs];
            ByteWeights::new(inputs, &bias, &scales, |o, i| {
                (100.0 * value(o * 41 + i)) as i8
            })
        };
        let bias: Vec<f32> = (0..inner).map(value).collect();
        let scales = vec![0.01; inner];
        ByteLayers {
            expand: linear(channels, inner),
            depthwise: ByteDepthwise::new(
                window.kernel,
                window.stride,
                &bias,
                &scales,
                |c, y, x| (100.0 * value(c * 100 + y * 10 + x)) as i16,
            ),
            project: linear(inner, channels),
        }
    }

    /// Computes one layer after the other.
    fn by_layers<B: Block>(image: &Image<'_, B>) -> Vec<f32> {
        let [inner, outputs] = image.block.channels();
        let mut expanded = vec![B::Value::default(); image.expanded.pixels() * inner];
        image
            .block
            .expand(image.input, image.sides, 0, &mut expanded);
        let rows = ImageRows {
            values: image.block.unexpanded(image.input).unwrap_or(&expanded),
            before: 0,
            channels: inner,
            above: 0,
            sides: image.expanded,
        };
        let mut filtered = vec![B::Value::default(); image.after.pixels() * inner];
        image.block.filter(rows, 0, &mut filtered);
        let mut output = vec![0.0; image.after.pixels() * outputs];
        let skip = image.adds_input.then_some(image.input);
        image.block.project(&filtered, skip, &mut output);
        output
    }

    /// Compares strips and channels with whole layers.
    fn compare<B: Block>(block: &B, sides: Sides) -> Result<(), TestCaseError> {
        let [_, channels] = block.channels();
        let input: Vec<f32> = (0..sides.pixels() * channels).map(value).collect();
        let adds_input = block.window().stride == 1 && block.expanded(sides) == sides;
        let image = Image::new(block, &input, sides, adds_input);
        let expected = by_layers(&image);
        if block.has_channels() {
            prop_assert_eq!(&image.by_channels()[..], &expected);
        }
        let (found, after) = image.apply();
        prop_assert_eq!(after, block.expanded(sides).after(block.window().stride));
        prop_assert_eq!(&found[..], &expected);
        // In one piece, and the lower half of the rows alone.
        let line = after.width * channels;
        for first in [0, after.height / 2] {
            let mut rows = vec![f32::NAN; (after.height - first) * line];
            image.rows(first, &mut rows);
            prop_assert_eq!(&rows[..], &expected[first * line..]);
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn strips_give_the_values_of_whole_layers(
            height in 1_usize..40,
            width in 1_usize..40,
            kernel in prop::sample::select(vec![1_usize, 3, 5, 7]),
            stride in 1_usize..4,
            kind in prop::sample::select(vec![Kind::Unexpanded, Kind::Pixels, Kind::Window]),
        ) {
            let (sides, window) = (Sides { height, width }, Window { kernel, stride });
            // Wide enough for several strips.
            let inner = if matches!(kind, Kind::Unexpanded) { 6 } else { 300 };
            compare(&floats(6, inner, kind, window), sides)?;
            compare(&bytes(6, 1200, window), sides)?;
        }
    }
}
