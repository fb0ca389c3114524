//! Product of a matrix with packed weights; a 1x1 convolution is one.
//!
//! The weights are stored in panels of [`PANEL`] columns. A tile, [`ROWS`] rows times two vectors of
//! columns, is computed in registers: each weight is loaded once for all rows, each input once for
//! both vectors.

use std::borrow::Cow;

use pulp::{Arch, Simd, WithSimd};

use crate::activation::Activation;
use crate::threads::for_pieces;
use crate::vectors;

/// Columns of a panel: two vectors of AVX-512, or more of other instruction sets.
const PANEL: usize = 32;
/// Rows of a tile.
const ROWS: usize = 6;

/// One row of a panel.
type PanelRow = [f32; PANEL];

/// Panel after panel, `[inputs]` rows each; the last one is padded with zeros.
#[derive(Clone, Debug)]
enum Panels {
    Floats(Vec<PanelRow>),
    /// Integers, and a row of scales for each panel.
    Integers(Vec<[i8; PANEL]>, Vec<PanelRow>),
}

/// Weights of a linear map, arranged for [`PackedWeights::apply`].
#[derive(Clone, Debug)]
pub struct PackedWeights {
    inputs: usize,
    outputs: usize,
    panels: Panels,
    /// One row for each panel.
    bias: Vec<PanelRow>,
}

impl PackedWeights {
    /// Arranges `weight(output, input)` and a bias with one value for each output.
    ///
    /// # Shapes
    /// `[inputs] -> [outputs]`, with `outputs` the length of `bias`
    #[must_use]
    pub fn new(inputs: usize, bias: &[f32], weight: impl Fn(usize, usize) -> f32) -> Self {
        Self {
            inputs,
            outputs: bias.len(),
            panels: Panels::Floats(arrange(inputs, bias.len(), weight)),
            bias: padded(bias),
        }
    }

    /// Arranges integers `weight(output, input)`, which are multiplied by one scale for each
    /// output. They take a quarter of the memory, and are unpacked for every product.
    ///
    /// # Shapes
    /// `[inputs] -> [outputs]`, with `outputs` the length of `bias` and of `scales`
    #[must_use]
    pub fn of_integers(
        inputs: usize,
        bias: &[f32],
        scales: &[f32],
        weight: impl Fn(usize, usize) -> i8,
    ) -> Self {
        let integers = arrange(inputs, bias.len(), weight);
        Self {
            inputs,
            outputs: bias.len(),
            panels: Panels::Integers(integers, padded(scales)),
            bias: padded(bias),
        }
    }

    /// Returns the panels in `f32`.
    fn floats(&self) -> Cow<'_, [PanelRow]> {
        let (integers, scales) = match &self.panels {
            Panels::Floats(panels) => return Cow::Borrowed(panels),
            Panels::Integers(integers, scales) => (integers, scales),
        };
        let mut panels = vec![[0.0; PANEL]; integers.len()];
        let width = self.inputs * PANEL;
        let flat = panels.as_flattened_mut();
        let count = flat.len();
        for_pieces(flat, width, 1, count, |first, piece| {
            let integers = integers.get(first * self.inputs..).unwrap_or_default();
            Arch::new().dispatch(Unpack {
                integers: integers.chunks(self.inputs.max(1)),
                scales: scales.get(first..).unwrap_or_default(),
                panels: piece.chunks_mut(width.max(1)),
            });
        });
        Cow::Owned(panels)
    }

    /// Returns the length of an input row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Returns the length of an output row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Computes `activation(x W + bias) + skip` for each row `x` of `input`.
    ///
    /// # Shapes
    /// `input [n, inputs]`, `skip [n, outputs]`, `output [n, outputs]`; rows that one of them lacks
    /// are left as they are
    pub fn apply(
        &self,
        input: &[f32],
        skip: Option<&[f32]>,
        activation: Activation,
        output: &mut [f32],
    ) {
        if self.inputs == 0 || self.outputs == 0 {
            return;
        }
        let rows = (input.len() / self.inputs).min(output.len() / self.outputs);
        let rows = skip.map_or(rows, |skip| rows.min(skip.len() / self.outputs));
        let output = &mut output[..rows * self.outputs];
        let products = rows * self.inputs * self.outputs;
        let panels = self.floats();
        for_pieces(output, self.outputs, ROWS, products, |first, output| {
            Arch::new().dispatch(Product {
                weights: self,
                panels: &panels,
                input: input.get(first * self.inputs..).unwrap_or_default(),
                skip: skip.map(|skip| &skip[first * self.outputs..]),
                activation,
                output,
            });
        });
    }
}

/// Arranges weights in panels.
fn arrange<T: Copy + Default>(
    inputs: usize,
    outputs: usize,
    weight: impl Fn(usize, usize) -> T,
) -> Vec<[T; PANEL]> {
    let mut panels = Vec::with_capacity(outputs.div_ceil(PANEL) * inputs);
    for first in (0..outputs).step_by(PANEL) {
        for input in 0..inputs {
            let mut row = [T::default(); PANEL];
            for (slot, output) in row.iter_mut().zip(first..outputs) {
                *slot = weight(output, input);
            }
            panels.push(row);
        }
    }
    panels
}

/// Splits values into rows of panels, the last one padded with zeros.
fn padded(values: &[f32]) -> Vec<PanelRow> {
    let rows = values.chunks(PANEL).map(|values| {
        let mut row = [0.0; PANEL];
        row[..values.len()].copy_from_slice(values);
        row
    });
    rows.collect()
}

/// Multiplies integers by their scales, panel by panel.
struct Unpack<'a, I, P> {
    integers: I,
    scales: &'a [PanelRow],
    panels: P,
}

impl<'a, I, P> WithSimd for Unpack<'a, I, P>
where
    I: Iterator<Item = &'a [[i8; PANEL]]>,
    P: Iterator<Item = &'a mut [f32]>,
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for ((panel, integers), scales) in self.panels.zip(self.integers).zip(self.scales) {
            for (row, integers) in panel.as_chunks_mut::<PANEL>().0.iter_mut().zip(integers) {
                for ((value, integer), scale) in row.iter_mut().zip(integers).zip(scales) {
                    *value = f32::from(*integer) * scale;
                }
            }
        }
    }
}

/// The arguments of [`PackedWeights::apply`].
struct Product<'a> {
    weights: &'a PackedWeights,
    panels: &'a [PanelRow],
    input: &'a [f32],
    skip: Option<&'a [f32]>,
    activation: Activation,
    output: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (inputs, outputs) = (self.weights.inputs, self.weights.outputs);
        let blocks = self.input.chunks(ROWS * inputs);
        let blocks = blocks.zip(self.output.chunks_mut(ROWS * outputs));
        for (index, (input, output)) in blocks.enumerate() {
            let mut block = Block {
                // A row that is missing in the last block is the first one again, and not stored.
                rows: std::array::from_fn(|row| {
                    let row = input.chunks_exact(inputs).nth(row);
                    row.unwrap_or(&input[..inputs])
                }),
                skip: self.skip.map(|skip| &skip[index * ROWS * outputs..]),
                activation: self.activation,
                output,
                outputs,
            };
            let panels = self.panels.chunks_exact(inputs).zip(&self.weights.bias);
            for (index, (panel, bias)) in panels.enumerate() {
                block.panel(simd, panel, bias, index * PANEL);
            }
        }
    }
}

/// A block of rows of a product.
struct Block<'a> {
    rows: [&'a [f32]; ROWS],
    skip: Option<&'a [f32]>,
    activation: Activation,
    /// `[rows, outputs]`, with at most [`ROWS`] rows.
    output: &'a mut [f32],
    outputs: usize,
}

impl Block<'_> {
    /// Computes the columns of a panel; `column` is its first.
    #[inline(always)]
    fn panel<S: Simd>(&mut self, simd: S, panel: &[PanelRow], bias: &PanelRow, column: usize) {
        let bias = S::as_simd_f32s(bias).0;
        let used = PANEL.min(self.outputs - column).div_ceil(S::F32_LANES);
        // More sums than two vectors of each row do not fit into the registers of AVX2 and
        // WebAssembly.
        for first in (0..used).step_by(2) {
            let column = column + first * S::F32_LANES;
            if first + 1 < used {
                let sums = tile(
                    simd,
                    self.rows,
                    panel,
                    first,
                    [bias[first], bias[first + 1]],
                );
                self.store(simd, sums, column);
            } else {
                let sums = tile(simd, self.rows, panel, first, [bias[first]]);
                self.store(simd, sums, column);
            }
        }
    }

    /// Writes the vectors of a tile that begins at a column.
    #[inline(always)]
    fn store<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        sums: [[S::f32s; N]; ROWS],
        column: usize,
    ) {
        let (outputs, end) = (self.outputs, column + N * S::F32_LANES);
        let rows = self.output.chunks_exact_mut(outputs).zip(sums);
        for (index, (row, sums)) in rows.enumerate() {
            let skip = self.skip.map(|skip| &skip[index * outputs..][..outputs]);
            if end <= outputs {
                let skip = skip.map(|skip| S::as_simd_f32s(&skip[column..end]).0);
                let targets = S::as_mut_simd_f32s(&mut row[column..end]).0;
                for (part, (target, sum)) in targets.iter_mut().zip(sums).enumerate() {
                    let value = self.activation.apply(simd, sum);
                    *target = skip.map_or(value, |skip| simd.add_f32s(value, skip[part]));
                }
            } else {
                for (part, sum) in sums.into_iter().enumerate() {
                    let from = column + part * S::F32_LANES;
                    let to = (from + S::F32_LANES).min(outputs);
                    let mut value = self.activation.apply(simd, sum);
                    if let Some(skip) = skip {
                        value = simd.add_f32s(value, vectors::load(simd, &skip[from..to]));
                    }
                    vectors::store(simd, &mut row[from..to], value);
                }
            }
        }
    }
}

/// Computes a tile of `N` vectors of columns: the products of the rows with a panel, from its vector
/// `first` on, plus the bias.
#[inline(always)]
fn tile<S: Simd, const N: usize>(
    simd: S,
    rows: [&[f32]; ROWS],
    panel: &[PanelRow],
    first: usize,
    bias: [S::f32s; N],
) -> [[S::f32s; N]; ROWS] {
    let mut sums = [bias; ROWS];
    let inputs = panel.len();
    // Slices of a known length need no check in the loop.
    let rows = rows.map(|row| &row[..inputs]);
    for (input, weights) in panel.iter().enumerate() {
        let weights = &S::as_simd_f32s(weights).0[first..first + N];
        for (row, sums) in rows.iter().zip(&mut sums) {
            let x = simd.splat_f32s(row[input]);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(x, *weight, *sum);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(
        input: &[f32],
        inputs: usize,
        bias: &[f32],
        weight: impl Fn(usize, usize) -> f32,
        activation: Activation,
    ) -> Vec<f64> {
        let row = |x: &[f32]| -> Vec<f64> {
            let output = |o: usize| {
                let sum: f64 = (0..inputs)
                    .map(|i| f64::from(x[i]) * f64::from(weight(o, i)))
                    .sum();
                let sum = sum + f64::from(bias[o]);
                match activation {
                    Activation::Relu6 => sum.clamp(0.0, 6.0),
                    _ => sum,
                }
            };
            (0..bias.len()).map(output).collect()
        };
        input.chunks_exact(inputs).flat_map(row).collect()
    }

    /// Returns a fixed value between -1 and 1 for a position.
    fn value(index: usize) -> f32 {
        ((index * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0
    }

    proptest! {
        #[test]
        fn products_are_those_of_a_plain_loop(
            rows in 0_usize..20,
            inputs in 1_usize..40,
            outputs in 1_usize..40,
            relu6: bool,
            skips: bool,
        ) {
            let activation = if relu6 { Activation::Relu6 } else { Activation::None };
            let weight = |o: usize, i: usize| value(o * 41 + i);
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(|i| 3.0 * value(i)).collect();
            let skip: Vec<f32> = (0..rows * outputs).map(|i| value(i + 9)).collect();
            let packed = PackedWeights::new(inputs, &bias, weight);
            let mut output = vec![f32::NAN; rows * outputs];
            packed.apply(&input, skips.then_some(&skip[..]), activation, &mut output);
            let expected = naive(&input, inputs, &bias, weight, activation);
            for (at, (found, expected)) in output.iter().zip(expected).enumerate() {
                let expected = expected + if skips { f64::from(skip[at]) } else { 0.0 };
                prop_assert!((f64::from(*found) - expected).abs() < 1e-4, "{found} {expected}");
            }
        }
    }

    proptest! {
        #[test]
        fn integers_give_the_product_of_their_floats(
            rows in 0_usize..9,
            inputs in 1_usize..20,
            outputs in 1_usize..40,
        ) {
            let integer = |o: usize, i: usize| (value(o * 41 + i) * 127.0) as i8;
            let scales: Vec<f32> = (0..outputs).map(|o| 0.01 + value(o).abs()).collect();
            let weight = |o: usize, i: usize| f32::from(integer(o, i)) * scales[o];
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(value).collect();
            let packed = [
                PackedWeights::new(inputs, &bias, weight),
                PackedWeights::of_integers(inputs, &bias, &scales, integer),
            ];
            let products = packed.map(|packed| {
                let mut output = vec![f32::NAN; rows * outputs];
                packed.apply(&input, None, Activation::None, &mut output);
                output
            });
            prop_assert_eq!(&products[0], &products[1]);
        }
    }

    #[test]
    fn numbers_that_are_not_finite_spread_to_their_row_only() {
        let packed = PackedWeights::new(2, &[0.0; 3], |_, _| 1.0);
        let input = [
            1.0,
            f32::NAN,
            1.0,
            f32::INFINITY,
            1.0,
            1.0,
            f32::NEG_INFINITY,
            0.0,
        ];
        let mut output = [0.5; 12];
        packed.apply(&input, None, Activation::Relu6, &mut output);
        assert!(output[..3].iter().all(|v| v.is_nan()));
        assert_eq!(output[3..6], [6.0; 3]);
        assert_eq!(output[6..9], [2.0; 3]);
        assert_eq!(output[9..], [0.0; 3]);
    }

    #[test]
    fn empty_sizes_change_nothing() {
        let mut output = [0.5; 2];
        PackedWeights::new(0, &[1.0], |_, _| 1.0).apply(&[], None, Activation::None, &mut output);
        PackedWeights::new(1, &[], |_, _| 1.0).apply(&[1.0], None, Activation::None, &mut output);
        PackedWeights::new(1, &[1.0], |_, _| 1.0).apply(&[], None, Activation::None, &mut output);
        assert_eq!(output, [0.5; 2]);
    }
}
