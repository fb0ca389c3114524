//! Products of inputs in bytes with integers.
//!
//! Sums of integers are exact, and the few operations on floats before and after them are rounded in
//! the same way by every processor.

use super::byte_weights::{ByteWeights, Constants};
use super::target::{Product, ROW_BLOCK, Target};
use crate::Eight;
use crate::activation::Activation;
use crate::bytes::{Buffers, Input, Output, RowScale};
use crate::instructions::{Dots, Instructions, Work};
use crate::lanes::Lanes;
use crate::panel::PANEL;
use crate::quads::QUAD;
use crate::scratch::Scratch;

/// Computes a target that begins with the product's first row; its first column begins a panel.
pub(super) fn compute<I: Input, T: Target<Value: Output>>(
    product: Product<'_, ByteWeights, I>,
    column: usize,
    target: &mut T,
) {
    // One is always available.
    if let Some(instructions) = Instructions::available().next() {
        compute_with(instructions, product, column, target);
    }
}

fn compute_with<I: Input, T: Target<Value: Output>>(
    instructions: Instructions,
    product: Product<'_, ByteWeights, I>,
    column: usize,
    target: &mut T,
) {
    instructions.run(Blocks {
        product,
        column,
        target,
    });
}

/// The blocks of a target.
struct Blocks<'a, I, T> {
    product: Product<'a, ByteWeights, I>,
    /// First column of the target.
    column: usize,
    target: &'a mut T,
}

/// Rows that are multiplied with the same weights before the next ones.
struct RowBlock<'a, Q> {
    /// Index of the first row.
    first: usize,
    /// `[rows, quads]`
    quads: &'a [Q],
    /// `[rows]`
    scales: &'a [RowScale],
}

/// A tile's place.
struct Tile<'a, W> {
    weights: &'a [W],
    panel: usize,
    /// First row in the block.
    row: usize,
    /// First column in the panel.
    first: usize,
    /// The same column in the target.
    from: usize,
}

impl<I: Input, T: Target<Value: Output>> Work for Blocks<'_, I, T> {
    #[inline(always)]
    fn run<D: Dots>(mut self, dots: D) {
        let weights = self.product.weights;
        let (rows, quads) = (self.target.rows(), weights.inputs.div_ceil(QUAD));
        if rows == 0 {
            return;
        }
        let width = self.target.row(0).len();
        let mut buffers = Buffers::default();
        let (mut inputs, mut rows_of_weights) = (Scratch::new(0), Scratch::new(0));
        for first in (0..rows).step_by(ROW_BLOCK) {
            let input = first * weights.inputs..rows.min(first + ROW_BLOCK) * weights.inputs;
            let input = &self.product.input[input];
            let (bytes, scales) = I::bytes(input, weights.inputs, &mut buffers);
            let block = RowBlock {
                first,
                quads: dots.quads(bytes, &mut inputs),
                scales,
            };
            for from in (0..width).step_by(PANEL) {
                let panel = (self.column + from) / PANEL;
                for first in (0..PANEL.min(width - from)).step_by(D::COLUMNS) {
                    let weights = &weights.quads[panel * quads..][..quads];
                    let tile = Tile {
                        weights: dots.rows(weights, first, &mut rows_of_weights),
                        panel,
                        row: 0,
                        first,
                        from: from + first,
                    };
                    self.tiles(dots, &block, tile);
                }
            }
        }
    }
}

impl<I: Input, T: Target<Value: Output>> Blocks<'_, I, T> {
    /// Computes all tiles of some columns.
    #[inline(always)]
    fn tiles<D: Dots>(
        &mut self,
        dots: D,
        block: &RowBlock<'_, D::Quad>,
        mut tile: Tile<'_, D::Row>,
    ) {
        while tile.row < block.scales.len() {
            let left = block.scales.len() - tile.row;
            // Tiles of similar sizes.
            let count = left.div_ceil(left.div_ceil(D::ROWS));
            match count {
                1 => self.tile::<D, 1>(dots, block, &tile),
                2 => self.tile::<D, 2>(dots, block, &tile),
                3 if D::ROWS >= 4 => self.tile::<D, 3>(dots, block, &tile),
                4 if D::ROWS >= 4 => self.tile::<D, 4>(dots, block, &tile),
                5 if D::ROWS >= 6 => self.tile::<D, 5>(dots, block, &tile),
                6 if D::ROWS >= 6 => self.tile::<D, 6>(dots, block, &tile),
                7 if D::ROWS >= 8 => self.tile::<D, 7>(dots, block, &tile),
                _ if D::ROWS >= 8 => self.tile::<D, 8>(dots, block, &tile),
                _ => {}
            }
            tile.row += count;
        }
    }

    #[inline(always)]
    fn tile<D: Dots, const R: usize>(
        &mut self,
        dots: D,
        block: &RowBlock<'_, D::Quad>,
        tile: &Tile<'_, D::Row>,
    ) {
        let length = tile.weights.len();
        // Slices of a known length need no check in the loop.
        let rows: [&[D::Quad]; R] =
            std::array::from_fn(|row| &block.quads[(tile.row + row) * length..][..length]);
        let mut sums = [dots.zero(); R];
        dots.add_products(&mut sums, rows, tile.weights, tile.first);
        self.store::<D, R>(block, tile, &dots.finish_all(&sums));
    }

    /// Stores the rows of a tile.
    #[inline(always)]
    fn store<D: Dots, const R: usize>(
        &mut self,
        block: &RowBlock<'_, D::Quad>,
        tile: &Tile<'_, D::Row>,
        sums: &[D::Columns; R],
    ) {
        let Product {
            weights,
            skip,
            activation,
            ..
        } = self.product;
        let constants = &weights.constants[tile.panel];
        let Constants {
            scales,
            totals,
            bias,
        } = constants;
        let columns = Columns {
            constants: [scales, totals, bias].map(|row| &row.0[tile.first..][..D::COLUMNS]),
            activation,
        };
        let rows = block.first + tile.row..;
        let of_rows = &block.scales[tile.row..][..R];
        for ((row, sums), of_row) in rows.zip(sums).zip(of_rows) {
            let sums = sums.as_ref();
            let skip = skip.map(|skip| &skip[row * weights.outputs + self.column + tile.from..]);
            let target = &mut self.target.row(row)[tile.from..];
            match D::COLUMNS {
                PANEL => columns.store::<PANEL, [f32; 16], _>(*of_row, sums, skip, target),
                16 => columns.store::<16, [f32; 16], _>(*of_row, sums, skip, target),
                _ => columns.store::<8, Eight, _>(*of_row, sums, skip, target),
            }
        }
    }
}

/// Constants of some columns, the same for all rows.
struct Columns<'a> {
    /// Scales, totals and bias.
    constants: [&'a [f32]; 3],
    activation: Activation,
}

impl Columns<'_> {
    /// Stores at most `N` outputs of a row.
    #[inline(always)]
    fn store<const N: usize, L: Lanes, O: Output>(
        &self,
        of_row: RowScale,
        sums: &[i32],
        skip: Option<&[f32]>,
        target: &mut [O],
    ) {
        if let Some(target) = target.first_chunk_mut::<N>() {
            self.store_parts::<L, O>(0, of_row, sums, skip, target);
            return;
        }
        let mut from = 0;
        // Constant conditions: no code for parts that are as long as the whole.
        if L::COUNT < N {
            from += self.store_parts::<L, O>(from, of_row, sums, skip, target);
        }
        if L::COUNT > 8 {
            from += self.store_parts::<Eight, O>(from, of_row, sums, skip, target);
        }
        self.store_parts::<[f32; 1], O>(from, of_row, sums, skip, target);
    }

    /// Stores outputs from a column on, as many at a time as there are lanes; returns how many these are.
    #[inline(always)]
    fn store_parts<L: Lanes, O: Output>(
        &self,
        first: usize,
        RowScale { scale, zero }: RowScale,
        sums: &[i32],
        skip: Option<&[f32]>,
        target: &mut [O],
    ) -> usize {
        let target = &mut target[first..];
        let parts = target.len() / L::COUNT;
        let limits = match self.activation {
            _ if O::IS_RECTIFIED => None,
            Activation::None => None,
            Activation::Relu => Some([0.0, f32::INFINITY]),
            Activation::Relu6 => Some([0.0, 6.0]),
        };
        let zero = f32::from(zero) * scale;
        for (part, target) in target.chunks_exact_mut(L::COUNT).enumerate() {
            let from = first + part * L::COUNT;
            let constants = self.constants.map(|values| &values[from..]);
            let mut values = L::of_sums(&sums[from..], [scale, zero], constants, limits);
            if let Some(skip) = skip {
                values = values.plus(&skip[from..]);
            }
            O::store(values, target);
        }
        parts * L::COUNT
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::PackedWeights;
    use super::super::target::Lines;
    use super::*;
    use crate::bytes::quantise;
    use crate::test_values::value;

    /// Returns a fixed weight between two bounds, often one of them.
    fn weight([least, largest]: [i8; 2], output: usize, input: usize) -> i8 {
        match (output * 31 + input) % 5 {
            0 => least,
            1 => largest,
            _ => (value(output * 601 + input) * f32::from(largest)) as i8,
        }
    }

    /// Bounds of weights: small ones, and all.
    const BOUNDS: [[i8; 2]; 2] = [[-63, 63], [i8::MIN, i8::MAX]];

    fn packed(bounds: [i8; 2], inputs: usize, outputs: usize) -> ByteWeights {
        let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
        let weight = |o, i| weight(bounds, o, i);
        ByteWeights::new(inputs, &bias, &vec![0.02; outputs], weight)
    }

    /// Returns one output by its definition.
    fn naive(bounds: [i8; 2], row: &[f32], output: usize, activation: Activation) -> f32 {
        let mut bytes = vec![0; row.len()];
        let of_row = quantise(row, &mut bytes);
        let products = bytes
            .iter()
            .enumerate()
            .map(|(input, byte)| i32::from(*byte) * i32::from(weight(bounds, output, input)));
        let weights = (0..row.len()).map(|input| i32::from(weight(bounds, output, input)));
        let zero = f32::from(of_row.zero) * of_row.scale;
        let value = products.sum::<i32>() as f32 * (of_row.scale * 0.02)
            + (value(output + 5) - zero * (weights.sum::<i32>() as f32 * 0.02));
        activation.apply_one(value)
    }

    proptest! {
        #[test]
        fn all_instruction_sets_give_the_same_bits(
            rows in 0_usize..20,
            inputs in 1_usize..40,
            outputs in 1_usize..80,
            is_signed: bool,
            bounds in prop::sample::select(BOUNDS.to_vec()),
            activation in prop::sample::select(vec![
                Activation::None, Activation::Relu, Activation::Relu6,
            ]),
        ) {
            let input = (0..rows * inputs).map(|i| 3.0 * value(i));
            let input: Vec<f32> = input.map(|x| if is_signed { x } else { x.abs() }).collect();
            let weights = packed(bounds, inputs, outputs);
            let expected: Vec<f32> = input
                .chunks(inputs)
                .flat_map(|row| (0..outputs).map(|o| naive(bounds, row, o, activation)))
                .collect();
            let mut output = vec![f32::NAN; rows * outputs];
            weights.apply(&input, None, activation, &mut output);
            prop_assert_eq!(&output, &expected);
            let product = Product { weights: &weights, input: &input, skip: None, activation };
            for instructions in Instructions::available() {
                let mut output = vec![f32::NAN; rows * outputs];
                let lines = &mut Lines(&mut output, outputs);
                compute_with(instructions, product, 0, lines);
                prop_assert_eq!(&output, &expected, "{:?}", instructions);
            }
        }

        #[test]
        fn rounding_costs_less_than_a_hundredth_of_the_largest_products(
            rows in 1_usize..9,
            inputs in 1_usize..300,
            outputs in 1_usize..40,
            skips: bool,
        ) {
            let input: Vec<f32> = (0..rows * inputs).map(|i| 3.0 * value(i)).collect();
            let skip: Vec<f32> = (0..rows * outputs).map(|i| value(i + 9)).collect();
            let skip = skips.then_some(&skip[..]);
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            let float = |o, i| f32::from(weight(BOUNDS[0], o, i)) * 0.02;
            let floats = PackedWeights::new(inputs, &bias, float);
            let outputs = [packed(BOUNDS[0], inputs, outputs).into(), floats].map(|weights| {
                let mut output = vec![f32::NAN; rows * outputs];
                weights.apply(&input, skip, Activation::None, &mut output);
                output
            });
            // Each product of a value up to 3 and a weight up to 1.26 may be wrong by 0.4 %.
            let most = 0.5 * 3.0 / 127.0 * 1.26 * inputs as f32 + 1e-3;
            for (found, expected) in outputs[0].iter().zip(&outputs[1]) {
                prop_assert!((found - expected).abs() <= most, "{} {}", found, expected);
            }
        }
    }

    #[test]
    fn rows_of_zeros_and_of_tiny_values_give_the_bias() {
        let weights = packed(BOUNDS[1], 5, 3);
        let bias: Vec<f32> = (0..3).map(|o| value(o + 5)).collect();
        for x in [0.0, -0.0, 1e-38, -1e-40] {
            let mut output = [f32::NAN; 3];
            weights.apply(&[x; 5], None, Activation::None, &mut output);
            assert_eq!(output[..], bias, "{x}");
        }
    }

    #[test]
    fn values_that_are_not_finite_stay_so_in_their_row_only() {
        let weights = packed(BOUNDS[1], 3, 40);
        for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut output = [f32::NAN; 120];
            let input = [1.0, 2.0, 3.0, 1.0, x, 1.0, 0.0, 0.5, 0.25];
            weights.apply(&input, None, Activation::None, &mut output);
            let is_finite: Vec<bool> = output.iter().map(|v| v.is_finite()).collect();
            assert!(is_finite[..40].iter().all(|v| *v), "{x}");
            assert!(is_finite[40..80].iter().all(|v| !*v), "{x}: {output:?}");
            assert!(is_finite[80..].iter().all(|v| *v), "{x}");
        }
    }

    #[test]
    fn empty_sizes_change_nothing() {
        let mut output = [0.5; 2];
        for (inputs, outputs, input) in [(0, 1, &[][..]), (1, 0, &[1.0][..]), (1, 1, &[][..])] {
            packed(BOUNDS[1], inputs, outputs).apply(input, None, Activation::None, &mut output);
        }
        assert_eq!(output, [0.5; 2]);
    }
}
