//! Product of a matrix with packed weights; a 1x1 convolution is one.
//!
//! The weights are stored in panels of [`PANEL`] columns. A tile, up to [`ROWS`] rows times two
//! vectors of columns, is computed in registers: each weight is loaded once for all rows, each
//! input once for both vectors. [`DEPTH`] rows of a panel stay in the first-level cache while
//! [`GROUP`] input rows pass them, so that the weights are read from memory once for each group.
//! Sums of one part of the depth wait in the output for the next: the order of the additions, and
//! so every bit of the result, does not depend on the sizes of the blocks.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::activation::Activation;
use crate::prefetch::prefetch;
use crate::threads::{for_columns, for_pieces, threads};
use crate::vectors;

/// Columns of a panel: two vectors of AVX-512, or more of other instruction sets.
const PANEL: usize = 32;
/// Most rows of a tile of two vectors. More sums do not fit into the registers of AVX2 and
/// WebAssembly.
const ROWS: usize = 6;
/// Most rows of a tile of one vector of AVX2 or AVX-512: more rows need more pointers than there are
/// registers.
const ROWS_OF_ONE: usize = 8;
/// Rows of a panel that are multiplied before the next panel: 32 kB.
const DEPTH: usize = 256;
/// Number of weights that do not fit into the caches of a core.
const LARGE: usize = 1 << 18;
/// Input rows that are multiplied with the same weights before the next ones: their part of the
/// depth, 240 kB, stays in the second-level cache.
pub const GROUP: usize = 240;

/// One row of a panel, in cache lines of its own: a vector that lies in two lines takes twice as long
/// to load.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct PanelRow([f32; PANEL]);

/// For each [`DEPTH`] inputs panel after panel, one row for each input, in the order in which they
/// are multiplied; the last panel is padded with zeros.
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
            panels: Panels::Floats(arrange(inputs, bias.len(), weight, PanelRow)),
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
        let integers = arrange(inputs, bias.len(), weight, |row| row);
        Self {
            inputs,
            outputs: bias.len(),
            panels: Panels::Integers(integers, padded(scales)),
            bias: padded(bias),
        }
    }

    /// Returns memory for a part of a panel that [`Self::part`] unpacks.
    fn buffer(&self) -> Vec<PanelRow> {
        match &self.panels {
            Panels::Floats(_) => Vec::new(),
            Panels::Integers(..) => vec![PanelRow([0.0; PANEL]); DEPTH.min(self.inputs)],
        }
    }

    /// Returns the rows of a panel for some inputs; integers are multiplied by their scales into
    /// the buffer.
    #[inline(always)]
    fn part<'a>(
        &'a self,
        panel: usize,
        inputs: Range<usize>,
        buffer: &'a mut [PanelRow],
    ) -> &'a [PanelRow] {
        let from = inputs.start * self.bias.len() + panel * inputs.len();
        let rows = from..from + inputs.len();
        let (integers, scales) = match &self.panels {
            Panels::Floats(panels) => return &panels[rows],
            Panels::Integers(integers, scales) => (&integers[rows], &scales[panel]),
        };
        let buffer = &mut buffer[..integers.len()];
        for (row, integers) in buffer.iter_mut().zip(integers) {
            for ((value, integer), scale) in row.0.iter_mut().zip(integers).zip(&scales.0) {
                *value = f32::from(*integer) * scale;
            }
        }
        buffer
    }

    /// Returns the rows after a part of a panel, as many as it has, if they come from the memory.
    fn after(&self, panel: usize, inputs: Range<usize>) -> &[PanelRow] {
        let Panels::Floats(panels) = &self.panels else {
            return &[];
        };
        if self.inputs * self.outputs < LARGE {
            return &[];
        }
        let from = inputs.start * self.bias.len() + (panel + 1) * inputs.len();
        let rows = &panels[from..];
        &rows[..inputs.len().min(rows.len())]
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
        let product = Product {
            weights: self,
            input,
            skip,
            activation,
        };
        // Few rows: a thread that takes columns reads its part of the weights only.
        if threads() > 1 && rows < 2 * GROUP && self.bias.len() > 2 {
            for_columns(output, self.outputs, PANEL, products, |first, lines| {
                product.compute(0, first, &mut Segments(lines));
            });
        } else {
            for_pieces(output, self.outputs, ROWS, products, |first, output| {
                product.compute(first, 0, &mut Lines(output, self.outputs));
            });
        }
    }
}

/// Arranges weights in panels, [`DEPTH`] inputs after the other.
fn arrange<T: Copy + Default, R>(
    inputs: usize,
    outputs: usize,
    weight: impl Fn(usize, usize) -> T,
    panel_row: impl Fn([T; PANEL]) -> R,
) -> Vec<R> {
    let mut panels = Vec::with_capacity(outputs.div_ceil(PANEL) * inputs);
    for depth in (0..inputs).step_by(DEPTH) {
        for first in (0..outputs).step_by(PANEL) {
            for input in depth..inputs.min(depth + DEPTH) {
                let mut row = [T::default(); PANEL];
                for (slot, output) in row.iter_mut().zip(first..outputs) {
                    *slot = weight(output, input);
                }
                panels.push(panel_row(row));
            }
        }
    }
    panels
}

/// Splits values into rows of panels, the last one padded with zeros.
fn padded(values: &[f32]) -> Vec<PanelRow> {
    let rows = values.chunks(PANEL).map(|values| {
        let mut row = [0.0; PANEL];
        row[..values.len()].copy_from_slice(values);
        PanelRow(row)
    });
    rows.collect()
}

/// Rows that a product is written to.
trait Target {
    /// Returns the number of rows.
    fn rows(&self) -> usize;

    /// Returns one of the rows; all have the same length.
    fn row(&mut self, index: usize) -> &mut [f32];
}

/// Rows one after the other, and their length.
struct Lines<'a>(&'a mut [f32], usize);

impl Target for Lines<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len() / self.1
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [f32] {
        &mut self.0[index * self.1..][..self.1]
    }
}

/// A part of each row.
struct Segments<'a>(Vec<&'a mut [f32]>);

impl Target for Segments<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn row(&mut self, index: usize) -> &mut [f32] {
        self.0[index]
    }
}

/// The arguments of [`PackedWeights::apply`].
#[derive(Clone, Copy)]
struct Product<'a> {
    weights: &'a PackedWeights,
    input: &'a [f32],
    skip: Option<&'a [f32]>,
    activation: Activation,
}

impl Product<'_> {
    /// Computes the target, whose first row and column are given; the column begins a panel.
    fn compute(self, row: usize, column: usize, target: &mut impl Target) {
        Arch::new().dispatch(Blocks {
            product: Product {
                input: &self.input[row * self.weights.inputs..],
                skip: self.skip.map(|skip| &skip[row * self.weights.outputs..]),
                ..self
            },
            column,
            target,
        });
    }
}

/// The blocks of a target.
struct Blocks<'a, T> {
    product: Product<'a>,
    /// First column of the target.
    column: usize,
    target: &'a mut T,
}

impl<T: Target> WithSimd for Blocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (rows, weights) = (self.target.rows(), self.product.weights);
        if rows == 0 {
            return;
        }
        let width = self.target.row(0).len();
        let mut unpacked = weights.buffer();
        for first in (0..rows).step_by(GROUP) {
            let rows = first..rows.min(first + GROUP);
            for first in (0..weights.inputs).step_by(DEPTH) {
                let depth = first..weights.inputs.min(first + DEPTH);
                for from in (0..width).step_by(PANEL) {
                    let index = (self.column + from) / PANEL;
                    let panel = weights.part(index, depth.clone(), &mut unpacked);
                    let next = weights.after(index, depth.clone());
                    let bias = S::as_simd_f32s(&weights.bias[index].0).0;
                    let used = PANEL.min(width - from).div_ceil(S::F32_LANES);
                    for vector in (0..used).step_by(2) {
                        let strip = Strip {
                            next: if vector == 0 { next } else { &[] },
                            panel,
                            vector,
                            from: from + vector * S::F32_LANES,
                            rows: rows.clone(),
                            depth: depth.clone(),
                        };
                        if vector + 1 < used {
                            self.strip(simd, strip, [bias[vector], bias[vector + 1]]);
                        } else {
                            self.strip(simd, strip, [bias[vector]]);
                        }
                    }
                }
            }
        }
    }
}

/// A group of rows of one or two vectors of columns.
#[derive(Clone)]
struct Strip<'a> {
    panel: &'a [PanelRow],
    /// Rows that are multiplied after the panel; they are loaded while the tiles are computed.
    next: &'a [PanelRow],
    /// First vector of the panel.
    vector: usize,
    /// Its column in the target.
    from: usize,
    rows: Range<usize>,
    /// Inputs that the rows of the panel belong to.
    depth: Range<usize>,
}

impl<T: Target> Blocks<'_, T> {
    /// Adds the products of a strip, tile by tile.
    #[inline(always)]
    fn strip<S: Simd, const N: usize>(&mut self, simd: S, strip: Strip, bias: [S::f32s; N]) {
        let each = strip.next.len().div_ceil(strip.rows.len().div_ceil(ROWS));
        let mut next = strip.next;
        let is_tall = N == 1 && S::F32_LANES >= 8;
        let mut row = strip.rows.start;
        while row < strip.rows.end {
            let left = strip.rows.end - row;
            let count = match left {
                ROWS_OF_ONE.. if is_tall => ROWS_OF_ONE,
                // Tiles of similar sizes.
                _ => left.div_ceil(left.div_ceil(ROWS)),
            };
            if !next.is_empty() {
                let (rows, later) = next.split_at(each.min(next.len()));
                rows.iter().for_each(|row| prefetch(&row.0));
                next = later;
            }
            match count {
                1 => self.tile::<S, 1, N>(simd, row, &strip, bias),
                2 => self.tile::<S, 2, N>(simd, row, &strip, bias),
                3 => self.tile::<S, 3, N>(simd, row, &strip, bias),
                4 => self.tile::<S, 4, N>(simd, row, &strip, bias),
                5 => self.tile::<S, 5, N>(simd, row, &strip, bias),
                ROWS => self.tile::<S, ROWS, N>(simd, row, &strip, bias),
                _ => self.tile::<S, ROWS_OF_ONE, N>(simd, row, &strip, bias),
            }
            row += count;
        }
    }

    /// Adds the products of `R` rows with `N` vectors of a panel to the bias, or to what the parts
    /// of the depth before it gave.
    #[inline(always)]
    fn tile<S: Simd, const R: usize, const N: usize>(
        &mut self,
        simd: S,
        first: usize,
        strip: &Strip,
        bias: [S::f32s; N],
    ) {
        let inputs = self.product.weights.inputs;
        let mut sums = [bias; R];
        if strip.depth.start > 0 {
            for (index, sums) in sums.iter_mut().enumerate() {
                let row = &self.target.row(first + index)[strip.from..];
                for (part, sum) in sums.iter_mut().enumerate() {
                    let values = row.get(part * S::F32_LANES..).unwrap_or_default();
                    *sum = vectors::load(simd, values);
                }
            }
        }
        let panel = strip.panel;
        // Slices of a known length need no check in the loop.
        let rows: [&[f32]; R] = std::array::from_fn(|row| {
            let from = (first + row) * inputs + strip.depth.start;
            &self.product.input[from..from + panel.len()]
        });
        for (input, weights) in panel.iter().enumerate() {
            let weights = &S::as_simd_f32s(&weights.0).0[strip.vector..strip.vector + N];
            for (row, sums) in rows.iter().zip(&mut sums) {
                let x = simd.splat_f32s(row[input]);
                for (sum, weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.mul_add_e_f32s(x, *weight, *sum);
                }
            }
        }
        for (index, sums) in sums.into_iter().enumerate() {
            self.store(simd, first + index, strip, sums);
        }
    }

    /// Writes the vectors of a row; those of the last part of the depth are completed first.
    #[inline(always)]
    fn store<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        row: usize,
        strip: &Strip,
        sums: [S::f32s; N],
    ) {
        let Product {
            weights,
            skip,
            activation,
            ..
        } = self.product;
        let is_last = strip.depth.end == weights.inputs;
        let skip = skip.filter(|_| is_last).map(|skip| {
            let from = row * weights.outputs + self.column + strip.from;
            &skip[from..(row + 1) * weights.outputs]
        });
        let activation = if is_last {
            activation
        } else {
            Activation::None
        };
        let target = &mut self.target.row(row)[strip.from..];
        for (part, sum) in sums.into_iter().enumerate() {
            let from = part * S::F32_LANES;
            let mut value = activation.apply(simd, sum);
            if let Some(skip) = skip {
                value = simd.add_f32s(value, vectors::load(simd, &skip[from..]));
            }
            vectors::store(simd, &mut target[from..], value);
        }
    }
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

    /// Returns the output of a product that `threads` threads share.
    fn shared(packed: &PackedWeights, input: &[f32], threads: usize) -> Vec<f32> {
        let rows = input.len() / packed.inputs();
        let mut output = vec![f32::NAN; rows * packed.outputs()];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads start")
            .install(|| packed.apply(input, None, Activation::Relu6, &mut output));
        output
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn parts_of_rows_columns_and_depth_give_the_same_bits(
            rows in prop::sample::select(vec![1_usize, 7, 50, 239, 241, 490]),
            inputs in prop::sample::select(vec![1_usize, 255, 256, 257, 600]),
            outputs in 1_usize..150,
            integers: bool,
        ) {
            let integer = |o: usize, i: usize| (value(o * 601 + i) * 127.0) as i8;
            let weight = |o: usize, i: usize| f32::from(integer(o, i)) * 0.01;
            let bias: Vec<f32> = (0..outputs).map(|o| value(o + 5)).collect();
            let input: Vec<f32> = (0..rows * inputs).map(|i| 0.1 * value(i)).collect();
            let packed = if integers {
                PackedWeights::of_integers(inputs, &bias, &vec![0.01; outputs], integer)
            } else {
                PackedWeights::new(inputs, &bias, weight)
            };
            let alone = shared(&packed, &input, 1);
            prop_assert_eq!(&shared(&packed, &input, 3), &alone);
            let expected = naive(&input, inputs, &bias, weight, Activation::Relu6);
            for (found, expected) in alone.iter().zip(expected) {
                prop_assert!((f64::from(*found) - expected).abs() < 1e-3, "{found} {expected}");
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
