//! The feed-forward layers of a transformer block: `gelu(x W + b) V + c`.
//!
//! Rows are computed in blocks, so that the hidden rows of a block stay in the cache between the two
//! products, forward and backward.

use rayon::prelude::*;

use super::linear::Linear;
use super::matrix::{Matrix, Target, Threads, product};
use super::pieces::{MIN_VALUES, add_rows};
use crate::gelu::Gelu;

/// Sizes of the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedForward {
    /// Number of rows.
    pub rows: usize,
    /// Length of a row of the input and of the output.
    pub width: usize,
    /// Length of a hidden row.
    pub hidden: usize,
    /// The function between the layers.
    pub gelu: Gelu,
}

/// The values of the layers.
#[derive(Clone, Copy)]
pub struct Layers<'a> {
    /// `W [width, hidden]` and `V [hidden, width]`.
    pub weights: [&'a [f32]; 2],
    /// `b [hidden]` and `c [width]`.
    pub biases: [&'a [f32]; 2],
}

/// Gradients; those that are not wanted are empty.
#[derive(Debug, Default)]
pub struct Grads {
    /// Gradient of the input, `[rows, width]`.
    pub x: Vec<f32>,
    /// Gradients of the weights, `[width, hidden]` and `[hidden, width]`.
    pub weights: [Vec<f32>; 2],
    /// Gradients of the biases, `[hidden]` and `[width]`.
    pub biases: [Vec<f32>; 2],
}

/// Which gradients are computed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// That of the input.
    pub x: bool,
    /// Those of the weights.
    pub weights: [bool; 2],
    /// Those of the biases.
    pub biases: [bool; 2],
}

impl FeedForward {
    /// Computes the output and, where `keep` says so, the hidden rows before GELU, which
    /// [`Self::backward`] needs.
    ///
    /// # Shapes
    /// `x [rows, width] -> [rows, width]`, `[rows, hidden]`
    #[must_use]
    pub fn forward(self, x: &[f32], layers: Layers<'_>, keep: bool) -> (Vec<f32>, Vec<f32>) {
        let Layers { weights, biases } = layers;
        let mut output = Vec::with_capacity(self.rows * self.width);
        let mut kept = Vec::with_capacity(if keep { self.rows * self.hidden } else { 0 });
        let mut hidden = Vec::new();
        for (from, rows) in self.blocks() {
            let x = Matrix::new(&x[from * self.width..], rows, self.width, self.width);
            hidden.clear();
            repeat(biases[0], rows, &mut hidden);
            let first = Matrix::new(weights[0], self.width, self.hidden, self.hidden);
            let target = Target::add(&mut hidden, self.hidden);
            product(x, first, 1.0, target, Threads::All);
            if keep {
                kept.extend_from_slice(&hidden);
            }
            let pieces = hidden.par_chunks_mut(MIN_VALUES);
            pieces.for_each(|piece| self.gelu.apply(piece));
            repeat(biases[1], rows, &mut output);
            let hidden = Matrix::new(&hidden, rows, self.hidden, self.hidden);
            let second = Matrix::new(weights[1], self.hidden, self.width, self.width);
            let target = Target::add(&mut output[from * self.width..], self.width);
            product(hidden, second, 1.0, target, Threads::All);
        }
        (output, kept)
    }

    /// Computes the gradients from that of the output and the hidden rows that [`Self::forward`] kept.
    ///
    /// # Shapes
    /// `x [rows, width]`, `kept [rows, hidden]`, `grad [rows, width]`
    #[must_use]
    pub fn backward(
        self,
        [x, kept, grad]: [&[f32]; 3],
        layers: Layers<'_>,
        wanted: Wanted,
    ) -> Grads {
        let zeros = |len: usize, is_wanted: bool| vec![0.0; if is_wanted { len } else { 0 }];
        let size = self.width * self.hidden;
        let mut grads = Grads {
            x: zeros(self.rows * self.width, wanted.x),
            weights: wanted.weights.map(|wanted| zeros(size, wanted)),
            biases: [
                zeros(self.hidden, wanted.biases[0]),
                zeros(self.width, wanted.biases[1]),
            ],
        };
        let [mut slopes, mut output] = [Vec::new(), Vec::new()];
        for (from, rows) in self.blocks() {
            let [x, grad] =
                [x, grad].map(|values| &values[from * self.width..][..rows * self.width]);
            let kept = &kept[from * self.hidden..][..rows * self.hidden];
            slopes.resize(kept.len(), 0.0);
            output.resize(kept.len(), 0.0);
            self.hidden_backward(grad, kept, layers.weights[1], [&mut slopes, &mut output]);
            let [first, second] = self.maps(rows);
            if wanted.weights[0] {
                first.add_weight_grad(x, &slopes, &mut grads.weights[0]);
            }
            if wanted.weights[1] {
                second.add_weight_grad(&output, grad, &mut grads.weights[1]);
            }
            add_rows(&slopes, self.hidden, &mut grads.biases[0]);
            add_rows(grad, self.width, &mut grads.biases[1]);
            if wanted.x {
                let target = Target::overwrite(&mut grads.x[from * self.width..], self.width);
                let slopes = Matrix::new(&slopes, rows, self.hidden, self.hidden);
                let weight = Matrix::new(layers.weights[0], self.width, self.hidden, self.hidden);
                product(slopes, weight.transposed(), 1.0, target, Threads::All);
            }
        }
        grads
    }

    /// Computes the gradients of hidden rows before GELU, and the hidden rows after it.
    fn hidden_backward(
        self,
        grad: &[f32],
        kept: &[f32],
        weight: &[f32],
        [slopes, output]: [&mut [f32]; 2],
    ) {
        let rows = kept.len() / self.hidden.max(1);
        let grad = Matrix::new(grad, rows, self.width, self.width);
        let weight = Matrix::new(weight, self.hidden, self.width, self.width).transposed();
        let target = Target::overwrite(slopes, self.hidden);
        product(grad, weight, 1.0, target, Threads::All);
        let slopes = slopes.par_chunks_mut(MIN_VALUES);
        let pieces = slopes.zip(output.par_chunks_mut(MIN_VALUES));
        pieces
            .zip(kept.par_chunks(MIN_VALUES))
            .for_each(|((slopes, output), kept)| self.gelu.backward(kept, slopes, output));
    }

    /// Returns the two linear maps of a number of rows.
    fn maps(self, rows: usize) -> [Linear; 2] {
        [[self.width, self.hidden], [self.hidden, self.width]].map(|[inputs, outputs]| Linear {
            rows,
            inputs,
            outputs,
        })
    }

    /// Returns the first row of each block and its number of rows.
    fn blocks(self) -> impl Iterator<Item = (usize, usize)> {
        let size = self.maps(self.rows)[0].rows_of_a_block();
        let first = (0..self.rows).step_by(size);
        first.map(move |from| (from, size.min(self.rows - from)))
    }
}

/// Appends a row a number of times.
fn repeat(row: &[f32], times: usize, rows: &mut Vec<f32>) {
    for _ in 0..times {
        rows.extend_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::{assert_gradients, value};

    const ALL: Wanted = Wanted {
        x: true,
        weights: [true; 2],
        biases: [true; 2],
    };

    /// Sizes with values: the input, the layers in the order `W, b, V, c`, and the gradient of the output.
    struct Example {
        sizes: FeedForward,
        x: Vec<f32>,
        layers: [Vec<f32>; 4],
        grad: Vec<f32>,
    }

    impl Example {
        fn new([rows, width, hidden]: [usize; 3], gelu: Gelu) -> Self {
            let values = |len: usize, start: usize| (start..start + len).map(value).collect();
            let size = width * hidden;
            Self {
                sizes: FeedForward {
                    rows,
                    width,
                    hidden,
                    gelu,
                },
                x: values(rows * width, 0),
                layers: [
                    values(size, 7),
                    values(hidden, 13),
                    values(size, 11),
                    values(width, 17),
                ],
                grad: values(rows * width, 5),
            }
        }

        fn layers(&self) -> Layers<'_> {
            let [first, b, second, c] = &self.layers;
            Layers {
                weights: [first, second],
                biases: [b, c],
            }
        }
    }

    /// Returns the sum of `grad` times the output with the quick function, in double precision.
    fn weighted(sizes: FeedForward, inputs: &[Vec<f64>; 5], grad: &[f32]) -> f64 {
        let [x, first, b, second, c] = inputs;
        let FeedForward { width, hidden, .. } = sizes;
        let row = |(x, grad): (&[f64], &[f32])| {
            let inner = |h: usize| {
                let sum = (0..width)
                    .map(|i| x[i] * first[i * hidden + h])
                    .sum::<f64>()
                    + b[h];
                sum / (1.0 + (-1.702 * sum).exp())
            };
            let inner: Vec<f64> = (0..hidden).map(inner).collect();
            let output = |o: usize| {
                let sum = (0..hidden).map(|h| inner[h] * second[h * width + o]);
                (sum.sum::<f64>() + c[o]) * f64::from(grad[o])
            };
            (0..width).map(output).sum::<f64>()
        };
        x.chunks(width).zip(grad.chunks(width)).map(row).sum()
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for lengths in [[1, 1, 1], [3, 2, 5], [4, 3, 8]] {
            let example = Example::new(lengths, Gelu::Quick);
            let Example { sizes, x, grad, .. } = &example;
            let layers = example.layers();
            let (output, kept) = sizes.forward(x, layers, true);
            let found = sizes.backward([x, &kept, grad], layers, ALL);
            let [first, b, second, c] = &example.layers;
            let [of_first, of_second] = &found.weights;
            let [of_b, of_c] = &found.biases;
            assert_gradients(
                [x, first, b, second, c],
                (&output, grad),
                [&found.x, of_first, of_b, of_second, of_c],
                |inputs| weighted(*sizes, inputs, grad),
            );
        }
    }

    #[test]
    fn blocks_of_rows_agree_with_separate_layers() {
        let example = Example::new([600, 6, 10], Gelu::Exact);
        let Example { sizes, x, grad, .. } = &example;
        let layers = example.layers();
        let [first, b, second, c] = &example.layers;
        let [to_hidden, to_output] = sizes.maps(sizes.rows);
        let (output, kept) = sizes.forward(x, layers, true);
        assert_eq!(
            sizes.forward(x, layers, false),
            (output.clone(), Vec::new())
        );
        let close = crate::test_values::assert_close;
        let expected = to_hidden.forward(x, first, Some(b));
        close(&kept, &expected);
        let mut after = expected.clone();
        sizes.gelu.apply(&mut after);
        close(&output, &to_output.forward(&after, second, Some(c)));
        let mut slopes = to_output.input_grad(second, grad);
        sizes.gelu.backward(&expected, &mut slopes, &mut after);
        let found = sizes.backward([x, &kept, grad], layers, ALL);
        close(&found.x, &to_hidden.input_grad(first, &slopes));
        close(&found.weights[0], &to_hidden.weight_grad(x, &slopes));
        close(&found.weights[1], &to_output.weight_grad(&after, grad));
        close(&found.biases[0], &to_hidden.bias_grad(&slopes));
        close(&found.biases[1], &to_output.bias_grad(grad));
    }

    #[test]
    fn no_row_is_needed_and_no_gradient_wanted() {
        let gelu = Gelu::Exact;
        let sizes = FeedForward {
            rows: 0,
            width: 2,
            hidden: 3,
            gelu,
        };
        let layers = Layers {
            weights: [&[1.0; 6]; 2],
            biases: [&[1.0; 3], &[1.0; 2]],
        };
        assert!(sizes.forward(&[], layers, true).0.is_empty());
        let found = sizes.backward([&[], &[], &[]], layers, ALL);
        assert_eq!(found.weights, [[0.0; 6]; 2]);
        let sizes = FeedForward { rows: 1, ..sizes };
        let none = Wanted {
            x: false,
            weights: [false; 2],
            biases: [false; 2],
        };
        let found = sizes.backward([&[1.0; 2], &[1.0; 3], &[1.0; 2]], layers, none);
        assert!(found.x.is_empty() && found.weights.iter().all(Vec::is_empty));
        assert!(found.biases.iter().all(Vec::is_empty));
    }
}
