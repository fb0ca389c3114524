//! Depthwise convolution of bytes.
//!
//! Four rows of the image are interleaved: one instruction then multiplies four rows of a column of
//! the kernel, for many channels. As long as they lie within the interleaved rows, several rows of
//! the output are computed from them.

use crate::Eight;
use crate::bytes::{Output, STEP};
use crate::instructions::{Dots, Instructions, Work};
use crate::interleaved::{Interleaved, row_quads};
use crate::lanes::Lanes;
use crate::panel::{PANEL, PanelRow, padded};
use crate::quads::{QUAD, Quads};
use crate::sides::{ImageRows, Window};

/// A depthwise convolution with TensorFlow's SAME padding, a bias and ReLU6, from bytes to bytes; 255
/// stands for 6. All processors give the same bits.
#[derive(Clone, Debug)]
pub struct ByteDepthwise {
    window: Window,
    /// `[panels, rows of the output, quads of rows, columns of the kernel]`
    low: Vec<Quads<i8>>,
    /// The upper bytes of weights of 16 bits, in the same order: `weight = 256 high + low`. Empty for
    /// weights of 8 bits.
    high: Vec<Quads<i8>>,
    /// One element for each panel.
    scales: Vec<PanelRow>,
    /// One element for each panel, in steps of the output.
    bias: Vec<PanelRow>,
}

impl ByteDepthwise {
    /// Largest absolute weight.
    pub const MOST: i16 = 127 << 8;

    /// Arranges integers `weight(channel, row, column)` of at most [`MOST`](Self::MOST), which are
    /// multiplied by one scale for each channel. Those of more than 8 bits take twice the time. The
    /// stride is at least 1.
    ///
    /// # Shapes
    /// `bias [channels]`, `scales [channels]`
    #[must_use]
    pub fn new(
        kernel: usize,
        stride: usize,
        bias: &[f32],
        scales: &[f32],
        weight: impl Fn(usize, usize, usize) -> i16,
    ) -> Self {
        let window = Window {
            kernel,
            stride: stride.max(1),
        };
        let channels = bias.len();
        let arrange = |byte: fn(i16) -> i8| {
            let mut quads = Vec::new();
            for first in (0..channels).step_by(PANEL) {
                for row in 0..rows_together(window) {
                    for at in 0..row_quads(window) * kernel {
                        let mut weights = Quads::default();
                        for (slot, c) in weights.0.iter_mut().zip(first..channels) {
                            for (tap, slot) in slot.iter_mut().enumerate() {
                                let y = at / kernel * QUAD + tap;
                                // The window of a later row begins further down.
                                let y = y.checked_sub(row * window.stride);
                                if let Some(y) = y.filter(|y| *y < kernel) {
                                    *slot = byte(weight(c, y, at % kernel));
                                }
                            }
                        }
                        quads.push(weights);
                    }
                }
            }
            quads
        };
        let low = arrange(|weight| weight as i8);
        let mut high = arrange(|weight| ((weight - i16::from(weight as i8)) >> 8) as i8);
        let is_zero = |row: &Quads<i8>| row.0.as_flattened().iter().all(|byte| *byte == 0);
        if high.iter().all(is_zero) {
            high.clear();
        }
        let bias: Vec<f32> = bias.iter().map(|bias| bias / STEP).collect();
        Self {
            window,
            low,
            high,
            scales: padded(scales),
            bias: padded(&bias),
        }
    }

    /// Returns the window.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Computes rows of the output, from `first` on, in one thread. The input must have the
    /// [`input_rows`](Window::input_rows), where rows that it lacks count as zeros, and the channels of
    /// the output.
    ///
    /// # Shapes
    /// `output [rows, ceil(width / stride), channels]`
    pub(crate) fn apply_rows(&self, input: ImageRows<'_, u8>, first: usize, output: &mut [u8]) {
        // One is always available.
        if let Some(instructions) = Instructions::available().next() {
            self.apply_with(instructions, input, first, output);
        }
    }

    fn apply_with(
        &self,
        instructions: Instructions,
        input: ImageRows<'_, u8>,
        first: usize,
        output: &mut [u8],
    ) {
        let line = input.sides.after(self.window.stride).width * input.channels;
        if line > 0 {
            instructions.run(Filter {
                layer: self,
                input,
                first,
                line,
                output,
            });
        }
    }
}

/// Returns the number of rows of the output whose windows lie within these quads.
fn rows_together(window: Window) -> usize {
    (row_quads(window) * QUAD - window.kernel) / window.stride + 1
}

/// The arguments of [`ByteDepthwise::apply_rows`].
struct Filter<'a> {
    layer: &'a ByteDepthwise,
    input: ImageRows<'a, u8>,
    /// Row of the output that `output` begins with.
    first: usize,
    /// Length of a row of the output.
    line: usize,
    output: &'a mut [u8],
}

/// Neighbouring pixels of the output, whose sums are computed together.
struct Tile<'a> {
    interleaved: &'a Interleaved,
    /// Number of channels of the input.
    channels: usize,
    /// First of these channels.
    from: usize,
    panel: usize,
    /// Row of the output, of those that are computed together.
    row: usize,
    /// Column of the first pixel.
    x: usize,
    /// First channel in the panel.
    first: usize,
}

impl Work for Filter<'_> {
    #[inline(always)]
    fn run<D: Dots>(self, dots: D) {
        let (window, channels) = (self.layer.window, self.input.channels);
        let mut interleaved = Interleaved::new(window, self.input.sides, channels);
        let (rows, together) = (self.output.len() / self.line, rows_together(window));
        for row in (0..rows).step_by(together) {
            for from in (0..channels).step_by(PANEL) {
                interleaved.fill(dots, self.input, self.first + row, from);
                for next in 0..together.min(rows - row) {
                    let line = &mut self.output[(row + next) * self.line..][..self.line];
                    for first in (0..PANEL).step_by(D::COLUMNS) {
                        let tile = Tile {
                            interleaved: &interleaved,
                            channels,
                            from: from + first,
                            panel: (self.input.before + from) / PANEL,
                            row: next,
                            x: 0,
                            first,
                        };
                        self.layer.filter(dots, tile, line);
                    }
                }
            }
        }
    }
}

impl ByteDepthwise {
    /// Computes some channels of a row of the output.
    #[inline(always)]
    fn filter<D: Dots>(&self, dots: D, mut tile: Tile<'_>, line: &mut [u8]) {
        let width = line.len() / tile.channels;
        if tile.from >= tile.channels {
            return;
        }
        while tile.x < width {
            let left = width - tile.x;
            // Tiles of similar sizes.
            let count = left.div_ceil(left.div_ceil(D::PIXELS));
            let line = &mut line[tile.x * tile.channels..][..count * tile.channels];
            match count {
                1 => self.tile::<D, 1>(dots, &tile, line),
                2 => self.tile::<D, 2>(dots, &tile, line),
                3 if D::PIXELS >= 4 => self.tile::<D, 3>(dots, &tile, line),
                4 if D::PIXELS >= 4 => self.tile::<D, 4>(dots, &tile, line),
                5 if D::PIXELS >= 8 => self.tile::<D, 5>(dots, &tile, line),
                6 if D::PIXELS >= 8 => self.tile::<D, 6>(dots, &tile, line),
                7 if D::PIXELS >= 8 => self.tile::<D, 7>(dots, &tile, line),
                _ if D::PIXELS >= 8 => self.tile::<D, 8>(dots, &tile, line),
                _ => {}
            }
            tile.x += count;
        }
    }

    /// Computes some channels of `N` pixels.
    #[inline(always)]
    fn tile<D: Dots, const N: usize>(&self, dots: D, tile: &Tile<'_>, pixels: &mut [u8]) {
        let sums = self.sums::<D, N>(dots, tile);
        let scales = &self.scales[tile.panel].0[tile.first..][..D::COLUMNS];
        let bias = &self.bias[tile.panel].0[tile.first..][..D::COLUMNS];
        for (sums, pixel) in sums.iter().zip(pixels.chunks_exact_mut(tile.channels)) {
            let (pixel, sums) = (&mut pixel[tile.from..], sums.as_ref());
            match D::COLUMNS {
                PANEL => store::<PANEL, [f32; 16]>(pixel, sums, scales, bias),
                16 => store::<16, [f32; 16]>(pixel, sums, scales, bias),
                _ => store::<8, Eight>(pixel, sums, scales, bias),
            }
        }
    }

    /// Returns the sums of the products of `N` pixels.
    #[inline(always)]
    fn sums<D: Dots, const N: usize>(&self, dots: D, tile: &Tile<'_>) -> [D::Columns; N] {
        let mut sums = [dots.zero(); N];
        if D::PASSES > 1 && !self.high.is_empty() {
            self.add_pass(dots, tile, 1, &mut sums);
            for sums in &mut sums {
                *sums = dots.times_256(*sums);
            }
        }
        self.add_pass(dots, tile, 0, &mut sums);
        dots.finish_all(&sums)
    }

    /// Adds the products of one pass over the weights.
    #[inline(always)]
    fn add_pass<D: Dots, const N: usize>(
        &self,
        dots: D,
        tile: &Tile<'_>,
        pass: usize,
        sums: &mut [D::Sums; N],
    ) {
        let Window { kernel, stride } = self.window;
        let size = row_quads(self.window) * kernel;
        let from = (tile.panel * rows_together(self.window) + tile.row) * size;
        let low = &self.low[from..from + size];
        let high = self.high.get(from..from + size).unwrap_or_default();
        for (quad, line) in tile.interleaved.lines().enumerate() {
            let line = &line[tile.x * stride..];
            for tap in 0..kernel {
                let at = quad * kernel + tap;
                let weights = match high.get(at) {
                    Some(high) => dots.of_pass(pass, [&low[at], high], tile.first),
                    None => dots.weights(&low[at], tile.first),
                };
                for (index, sums) in sums.iter_mut().enumerate() {
                    let inputs = dots.each(&line[index * stride + tap], tile.first);
                    *sums = dots.add(*sums, inputs, weights);
                }
            }
        }
    }
}

/// Stores at most `N` bytes.
#[inline(always)]
fn store<const N: usize, L: Lanes>(pixel: &mut [u8], sums: &[i32], scales: &[f32], bias: &[f32]) {
    // A known length needs no loop.
    if let Some(pixel) = pixel.first_chunk_mut::<N>() {
        store_parts::<L>(pixel, sums, scales, bias);
        return;
    }
    let mut from = 0;
    // A constant condition: no code for parts that are as long as the whole.
    if L::COUNT < N {
        from += store_parts::<L>(pixel, sums, scales, bias);
    }
    let (sums, scales, bias) = (&sums[from..], &scales[from..], &bias[from..]);
    store_parts::<[f32; 1]>(&mut pixel[from..], sums, scales, bias);
}

/// Stores bytes, as many at a time as there are lanes; returns how many these are.
#[inline(always)]
fn store_parts<L: Lanes>(pixel: &mut [u8], sums: &[i32], scales: &[f32], bias: &[f32]) -> usize {
    let parts = pixel.len() / L::COUNT;
    for (part, pixel) in pixel.chunks_exact_mut(L::COUNT).enumerate() {
        let from = part * L::COUNT;
        let values = L::scaled(&sums[from..], &scales[from..], &bias[from..]);
        u8::store(values, pixel);
    }
    parts * L::COUNT
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lanes::nearest;
    use crate::padding::same_padding;
    use crate::sides::Sides;
    use crate::test_values::value;

    /// Returns a fixed weight of at most `most`, often this.
    fn weight(most: i16, index: usize) -> i16 {
        match index % 4 {
            0 => most,
            1 => -most,
            _ => (value(index) * f32::from(most)) as i16,
        }
    }

    /// Returns one output by its definition.
    fn naive(
        Window { kernel, stride }: Window,
        most: i16,
        (input, sides, channels): (&[u8], Sides, usize),
        (y, x, c): (usize, usize, usize),
    ) -> u8 {
        let top = same_padding(sides.height, kernel, stride).0;
        let left = same_padding(sides.width, kernel, stride).0;
        let mut sum = 0;
        for (ky, kx) in (0..kernel).flat_map(|ky| (0..kernel).map(move |kx| (ky, kx))) {
            let (py, px) = (y * stride + ky, x * stride + kx);
            if py >= top && px >= left && py - top < sides.height && px - left < sides.width {
                let byte = input[((py - top) * sides.width + px - left) * channels + c];
                sum += i32::from(byte) * i32::from(weight(most, (c * kernel + ky) * kernel + kx));
            }
        }
        nearest(sum as f32 * (0.3 / f32::from(most)) + (value(c) + 2.0) / STEP)
    }

    proptest! {
        #[test]
        fn all_instruction_sets_give_the_bytes_of_a_plain_loop(
            height in 1_usize..12,
            width in 1_usize..20,
            channels in prop::sample::select(vec![1_usize, 15, 16, 31, 32, 40, 70]),
            kernel in prop::sample::select(vec![1_usize, 3, 5, 7]),
            stride in 1_usize..4,
            most in prop::sample::select(vec![63, 127, ByteDepthwise::MOST]),
        ) {
            let sides = Sides { height, width };
            let bias: Vec<f32> = (0..channels).map(|c| value(c) + 2.0).collect();
            let scales = vec![0.3 / f32::from(most); channels];
            let layer = ByteDepthwise::new(kernel, stride, &bias, &scales, |c, y, x| {
                weight(most, (c * kernel + y) * kernel + x)
            });
            let bytes = (0..sides.pixels() * channels).map(|i| nearest(300.0 * value(i)));
            let input: Vec<u8> = bytes.collect();
            let after = sides.after(stride);
            let places = (0..after.pixels() * channels)
                .map(|i| (i / channels / after.width, i / channels % after.width, i % channels));
            let image = (&input[..], sides, channels);
            let expected: Vec<u8> =
                places.map(|place| naive(layer.window, most, image, place)).collect();
            for instructions in Instructions::available() {
                // All rows, and the lower half.
                for first in [0, after.height / 2] {
                    let line = after.width * channels;
                    let rows = layer.window.input_rows(sides, first..after.height);
                    let input = ImageRows {
                        values: &input[rows.start * width * channels..],
                        before: 0,
                        channels,
                        above: rows.start,
                        sides,
                    };
                    let mut output = vec![1; (after.height - first) * line];
                    layer.apply_with(instructions, input, first, &mut output);
                    prop_assert_eq!(&output[..], &expected[first * line..], "{:?}", instructions);
                }
            }
        }
    }

    #[test]
    fn no_channels_and_no_rows_change_nothing() {
        let sides = Sides {
            height: 2,
            width: 2,
        };
        for (channels, values) in [(0, &[][..]), (1, &[1, 2, 3, 4][..])] {
            let layer = ByteDepthwise::new(
                3,
                1,
                &vec![0.0; channels],
                &vec![1.0; channels],
                |_, _, _| 1,
            );
            let input = ImageRows {
                values,
                before: 0,
                channels,
                above: 0,
                sides,
            };
            layer.apply_rows(input, 0, &mut []);
        }
    }
}
