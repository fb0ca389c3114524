//! Product of a matrix with packed weights; a 1x1 convolution is one.
//!
//! The weights are stored in panels of `PANEL` columns. A tile, up to `ROWS` rows times two
//! vectors of columns, is computed in registers: each weight is loaded once for all rows, each
//! input once for both vectors. `DEPTH` rows of a panel stay in the first-level cache while
//! [`ROW_BLOCK`] input rows pass them, so that the weights are read from memory once for each group.
//! AVX-512 has registers for taller tiles. They read copies of the inputs, if many columns share the cost
//! of copying.
//! Sums of one part of the depth wait in the output for the next: the order of the additions, and
//! so every bit of the result, does not depend on the sizes of the blocks.

mod byte_blocks;
mod byte_weights;
mod float_blocks;
mod float_weights;
mod target;

pub use byte_weights::ByteWeights;
pub use target::ROW_BLOCK;

use std::ops::Range;

use self::float_blocks::ROWS;
use self::float_weights::FloatWeights;
use self::target::{Lines, Product, Segments, Target};
use crate::activation::Activation;
use crate::bytes::{Input, Output};
use crate::panel::PANEL;
use crate::threads::{for_columns, for_pieces, threads};

/// Weights of a linear map, arranged for [`PackedWeights::apply`].
#[derive(Clone, Debug)]
pub struct PackedWeights(Multiplied);

/// Number format in which the weights are multiplied.
#[derive(Clone, Debug)]
enum Multiplied {
    Floats(FloatWeights),
    Bytes(ByteWeights),
}

impl From<ByteWeights> for PackedWeights {
    fn from(weights: ByteWeights) -> Self {
        Self(Multiplied::Bytes(weights))
    }
}

impl PackedWeights {
    /// Arranges `weight(output, input)` and a bias with one value for each output.
    ///
    /// # Shapes
    /// `[inputs] -> [outputs]`, with `outputs` the length of `bias`
    #[must_use]
    pub fn new(inputs: usize, bias: &[f32], weight: impl Fn(usize, usize) -> f32) -> Self {
        Self(Multiplied::Floats(FloatWeights::new(inputs, bias, weight)))
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
        let weights = FloatWeights::of_integers(inputs, bias, scales, weight);
        Self(Multiplied::Floats(weights))
    }

    /// Returns the length of an input row.
    #[must_use]
    pub fn inputs(&self) -> usize {
        match &self.0 {
            Multiplied::Floats(weights) => weights.inputs,
            Multiplied::Bytes(weights) => weights.inputs(),
        }
    }

    /// Returns the length of an output row.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match &self.0 {
            Multiplied::Floats(weights) => weights.outputs,
            Multiplied::Bytes(weights) => weights.outputs(),
        }
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
        match &self.0 {
            Multiplied::Floats(weights) => {
                Product::new(weights, input, skip, activation).apply(output);
            }
            Multiplied::Bytes(weights) => weights.apply(input, skip, activation, output),
        }
    }

    /// Computes some columns of the output in one thread; the first one begins a panel.
    ///
    /// # Shapes
    /// `input [n, inputs]`, `output [n, columns]`
    pub(crate) fn apply_columns(
        &self,
        input: &[f32],
        columns: Range<usize>,
        activation: Activation,
        output: &mut [f32],
    ) {
        match &self.0 {
            Multiplied::Floats(weights) => {
                Product::new(weights, input, None, activation).columns(columns, output);
            }
            Multiplied::Bytes(weights) => weights.apply_columns(input, columns, activation, output),
        }
    }
}

impl ByteWeights {
    /// Computes what [`PackedWeights::apply_columns`] does.
    pub(crate) fn apply_columns<O: Output>(
        &self,
        input: &[f32],
        columns: Range<usize>,
        activation: Activation,
        output: &mut [O],
    ) {
        Product::new(self, input, None, activation).columns(columns, output);
    }

    /// Computes what [`PackedWeights::apply`] does.
    pub(crate) fn apply<I: Input, O: Output>(
        &self,
        input: &[I],
        skip: Option<&[f32]>,
        activation: Activation,
        output: &mut [O],
    ) {
        Product::new(self, input, skip, activation).apply(output);
    }
}

/// Weights that are multiplied with inputs `I` and give outputs `O`.
trait Weights<I, O>: Sized {
    /// Returns the numbers of inputs and outputs.
    fn sizes(&self) -> [usize; 2];

    /// Computes a target that begins with the product's first row; its first column begins a panel.
    fn compute<T: Target<Value = O>>(product: Product<'_, Self, I>, column: usize, target: &mut T);
}

impl Weights<f32, f32> for FloatWeights {
    fn sizes(&self) -> [usize; 2] {
        [self.inputs, self.outputs]
    }

    fn compute<T: Target<Value = f32>>(
        product: Product<'_, Self, f32>,
        column: usize,
        target: &mut T,
    ) {
        float_blocks::compute(product, column, target);
    }
}

impl<I: Input, O: Output> Weights<I, O> for ByteWeights {
    fn sizes(&self) -> [usize; 2] {
        [self.inputs(), self.outputs()]
    }

    fn compute<T: Target<Value = O>>(product: Product<'_, Self, I>, column: usize, target: &mut T) {
        byte_blocks::compute(product, column, target);
    }
}

impl<'a, W: Sync, I: Sync> Product<'a, W, I> {
    fn new(
        weights: &'a W,
        input: &'a [I],
        skip: Option<&'a [f32]>,
        activation: Activation,
    ) -> Self {
        Self {
            weights,
            input,
            skip,
            activation,
        }
    }

    /// Computes some columns of the rows of an output, which has no others.
    fn columns<O>(self, columns: Range<usize>, output: &mut [O])
    where
        W: Weights<I, O>,
    {
        let [inputs, _] = self.weights.sizes();
        if inputs > 0 && !columns.is_empty() {
            W::compute(self, columns.start, &mut Lines(output, columns.len()));
        }
    }

    /// Computes all rows that the input, the skip and the output have.
    fn apply<O: Send>(self, output: &mut [O])
    where
        W: Weights<I, O>,
    {
        let [inputs, outputs] = self.weights.sizes();
        if inputs == 0 || outputs == 0 {
            return;
        }
        let rows = (self.input.len() / inputs).min(output.len() / outputs);
        let rows = self
            .skip
            .map_or(rows, |skip| rows.min(skip.len() / outputs));
        let output = &mut output[..rows * outputs];
        let products = rows * inputs * outputs;
        // Few rows: a thread that takes columns reads its part of the weights only.
        let largest =
            |count: usize, tile: usize| count.min(count.div_ceil(threads()).next_multiple_of(tile));
        // The largest piece takes the time.
        let is_by_columns = largest(outputs, PANEL) * rows < largest(rows, ROWS) * outputs;
        if threads() > 1 && rows < 2 * ROW_BLOCK && is_by_columns {
            for_columns(output, outputs, PANEL, products, |first, lines| {
                W::compute(self, first, &mut Segments(lines));
            });
        } else {
            for_pieces(output, outputs, ROWS, products, |first, output| {
                let product = Product {
                    input: &self.input[first * inputs..],
                    skip: self.skip.map(|skip| &skip[first * outputs..]),
                    ..self
                };
                W::compute(product, 0, &mut Lines(output, outputs));
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_values::value;

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
            outputs in prop_oneof![3 => 1_usize..150, 1 => 256_usize..300],
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
