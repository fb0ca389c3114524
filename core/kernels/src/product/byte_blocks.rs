//! Products of inputs in bytes with integers.
//!
//! Sums of integers are exact, and the few operations on floats before and after them are rounded in
//! the same way by every processor.

use super::byte_weights::{ByteWeights, QUAD, Quads};
use super::bytes::{RowScale, quantise};
use super::instructions::{Dots, Instructions, Work};
use super::panel::PANEL;
use super::target::{Product, ROW_BLOCK, Target};
use crate::activation::Activation;

impl ByteWeights {
    /// Computes a target that begins with the product's first row; its first column begins a panel.
    pub(super) fn compute(&self, product: Product<'_>, column: usize, target: &mut impl Target) {
        // One is always available.
        if let Some(instructions) = Instructions::available().next() {
            self.compute_with(instructions, product, column, target);
        }
    }

    fn compute_with(
        &self,
        instructions: Instructions,
        product: Product<'_>,
        column: usize,
        target: &mut impl Target,
    ) {
        instructions.run(Blocks {
            product,
            weights: self,
            column,
            target,
        });
    }
}

/// The blocks of a target.
struct Blocks<'a, T> {
    product: Product<'a>,
    weights: &'a ByteWeights,
    /// First column of the target.
    column: usize,
    target: &'a mut T,
}

/// Rows that are multiplied with the same weights before the next ones.
struct RowBlock {
    /// Index of the first row.
    first: usize,
    /// `[rows, quads]`
    bytes: Vec<[u8; QUAD]>,
    scales: Vec<RowScale>,
}

/// A tile's place.
struct Tile<'a> {
    weights: &'a [Quads],
    panel: usize,
    /// First row in the block.
    row: usize,
    /// First column in the panel.
    first: usize,
    /// The same column in the target.
    from: usize,
}

impl<T: Target> Work for Blocks<'_, T> {
    fn is_narrow(&self) -> bool {
        self.weights.is_narrow
    }

    #[inline(always)]
    fn run<D: Dots>(mut self, dots: D) {
        let (rows, inputs) = (self.target.rows(), self.product.weights.inputs());
        if rows == 0 {
            return;
        }
        let (width, quads) = (self.target.row(0).len(), inputs.div_ceil(QUAD));
        let mut block = RowBlock {
            first: 0,
            bytes: vec![[0; QUAD]; rows.min(ROW_BLOCK) * quads],
            scales: Vec::with_capacity(rows.min(ROW_BLOCK)),
        };
        while block.first < rows {
            let input = self.product.input[block.first * inputs..].chunks_exact(inputs);
            let bytes = block.bytes.chunks_exact_mut(quads);
            block.scales.clear();
            for (row, bytes) in input.take(rows - block.first).zip(bytes) {
                block.scales.push(quantise(row, bytes.as_flattened_mut()));
            }
            for from in (0..width).step_by(PANEL) {
                let panel = (self.column + from) / PANEL;
                for first in (0..PANEL.min(width - from)).step_by(D::COLUMNS) {
                    let tile = Tile {
                        weights: &self.weights.quads[panel * quads..][..quads],
                        panel,
                        row: 0,
                        first,
                        from: from + first,
                    };
                    self.tiles(dots, &block, tile);
                }
            }
            block.first += block.scales.len();
        }
    }
}

impl<T: Target> Blocks<'_, T> {
    /// Computes all tiles of some columns.
    #[inline(always)]
    fn tiles<D: Dots>(&mut self, dots: D, block: &RowBlock, mut tile: Tile<'_>) {
        while tile.row < block.scales.len() {
            let left = block.scales.len() - tile.row;
            // Tiles of similar sizes.
            let count = left.div_ceil(left.div_ceil(D::ROWS));
            match count {
                1 => self.tile::<D, 1>(dots, block, &tile),
                2 => self.tile::<D, 2>(dots, block, &tile),
                3 if D::ROWS >= 4 => self.tile::<D, 3>(dots, block, &tile),
                4 if D::ROWS >= 4 => self.tile::<D, 4>(dots, block, &tile),
                5 if D::ROWS >= 8 => self.tile::<D, 5>(dots, block, &tile),
                6 if D::ROWS >= 8 => self.tile::<D, 6>(dots, block, &tile),
                7 if D::ROWS >= 8 => self.tile::<D, 7>(dots, block, &tile),
                _ if D::ROWS >= 8 => self.tile::<D, 8>(dots, block, &tile),
                _ => {}
            }
            tile.row += count;
        }
    }

    #[inline(always)]
    fn tile<D: Dots, const R: usize>(&mut self, dots: D, block: &RowBlock, tile: &Tile<'_>) {
        let length = tile.weights.len();
        // Slices of a known length need no check in the loop.
        let rows: [&[[u8; QUAD]]; R] =
            std::array::from_fn(|row| &block.bytes[(tile.row + row) * length..][..length]);
        let mut sums = [dots.zero(); R];
        for (index, weights) in tile.weights.iter().enumerate() {
            for (sums, row) in sums.iter_mut().zip(&rows) {
                *sums = dots.add(*sums, row[index], weights, tile.first);
            }
        }
        for (index, sums) in sums.iter().enumerate() {
            let row = tile.row + index;
            let values = self.values::<D>(&dots.finish(*sums), block.scales[row], tile);
            self.store::<D>(block.first + row, &values, tile.from);
        }
    }

    /// Returns the output of a row's sums, before anything is added to it.
    #[inline(always)]
    fn values<D: Dots>(
        &self,
        sums: &[i32; PANEL],
        of_row: RowScale,
        tile: &Tile<'_>,
    ) -> [f32; PANEL] {
        let totals = &self.weights.totals[tile.panel][tile.first..][..D::COLUMNS];
        let scales = &self.weights.scales[tile.panel].0[tile.first..][..D::COLUMNS];
        let bias = &self.product.weights.bias[tile.panel].0[tile.first..][..D::COLUMNS];
        let (low, high) = match self.product.activation {
            Activation::None => (f32::NEG_INFINITY, f32::INFINITY),
            Activation::Relu => (0.0, f32::INFINITY),
            Activation::Relu6 => (0.0, 6.0),
        };
        let zero = i32::from(of_row.zero);
        let mut values = [0.0; PANEL];
        for column in 0..D::COLUMNS {
            let sum = (sums[column] - zero * totals[column]) as f32;
            let value = sum * (of_row.scale * scales[column]) + bias[column];
            // NaN is neither.
            let value = if value < low { low } else { value };
            values[column] = if value > high { high } else { value };
        }
        values
    }

    /// Stores a row of a tile.
    #[inline(always)]
    fn store<D: Dots>(&mut self, row: usize, values: &[f32; PANEL], from: usize) {
        let outputs = self.product.weights.outputs();
        let skip = self.product.skip;
        let skip = skip.map(|skip| &skip[row * outputs + self.column + from..]);
        let target = &mut self.target.row(row)[from..];
        // A known length needs no loop.
        if target.len() >= D::COLUMNS {
            put(&mut target[..D::COLUMNS], &values[..D::COLUMNS], skip);
        } else {
            put(target, &values[..target.len()], skip);
        }
    }
}

/// Stores values, with what is added to them.
#[inline(always)]
fn put(target: &mut [f32], values: &[f32], skip: Option<&[f32]>) {
    match skip {
        None => target.copy_from_slice(values),
        Some(skip) => {
            for ((target, value), skip) in target.iter_mut().zip(values).zip(skip) {
                *target = value + skip;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::byte_weights::NARROW;
    use super::super::target::Lines;
    use super::super::weights::{PackedWeights, Panels};
    use super::*;

    /// Returns a fixed value between -1 and 1 for a position.
    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    /// Returns a fixed weight between two bounds, often one of them.
    fn weight([least, largest]: [i8; 2], output: usize, input: usize) -> i8 {
        match (output * 31 + input) % 5 {
            0 => least,
            1 => largest,
            _ => (value(output * 601 + input) * f32::from(largest)) as i8,
        }
    }

    /// Bounds of weights: narrow ones, and all.
    const BOUNDS: [[i8; 2]; 2] = [[-NARROW, NARROW], [i8::MIN, i8::MAX]];

    fn packed(bounds: [i8; 2], inputs: usize, outputs: usize) -> PackedWeights {
        let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
        let weight = |o, i| weight(bounds, o, i);
        PackedWeights::for_rounded_inputs(inputs, &bias, &vec![0.02; outputs], weight)
    }

    /// Returns one output by its definition.
    fn naive(bounds: [i8; 2], row: &[f32], output: usize, activation: Activation) -> f32 {
        let mut bytes = vec![0; row.len()];
        let of_row = quantise(row, &mut bytes);
        let products = bytes.iter().enumerate().map(|(input, byte)| {
            (i32::from(*byte) - i32::from(of_row.zero)) * i32::from(weight(bounds, output, input))
        });
        let value = products.sum::<i32>() as f32 * (of_row.scale * 0.02) + value(output + 5);
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
            let Panels::Bytes(bytes) = &weights.panels else {
                panic!("the weights are {:?}", weights.panels);
            };
            let product = Product { weights: &weights, input: &input, skip: None, activation };
            for instructions in Instructions::available() {
                let mut output = vec![f32::NAN; rows * outputs];
                let lines = &mut Lines(&mut output, outputs);
                bytes.compute_with(instructions, product, 0, lines);
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
            let outputs = [packed(BOUNDS[0], inputs, outputs), floats].map(|weights| {
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
