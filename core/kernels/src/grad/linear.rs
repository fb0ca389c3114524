//! A linear map of rows.

use super::matrix::{Matrix, Target, Threads, product};
use super::pieces;

/// Minimum number of rows of a block.
const MIN_ROWS: usize = 256;

/// Sizes of a linear map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Number of rows.
    pub rows: usize,
    /// Length of an input row.
    pub inputs: usize,
    /// Length of an output row.
    pub outputs: usize,
}

impl Linear {
    /// Computes `x W + bias`.
    ///
    /// # Shapes
    /// `x [rows, inputs]`, `weight [inputs, outputs]`, `bias [outputs] -> [rows, outputs]`
    #[must_use]
    pub fn forward(self, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        let x = Matrix::new(x, self.rows, self.inputs, self.inputs);
        let weight = Matrix::new(weight, self.inputs, self.outputs, self.outputs);
        let Some(bias) = bias else {
            return multiplied(x, weight, [self.rows, self.outputs]);
        };
        let mut output = Vec::with_capacity(self.rows * self.outputs);
        for _ in 0..self.rows {
            output.extend_from_slice(bias);
        }
        let target = Target::add(&mut output, self.outputs);
        product(x, weight, 1.0, target, Threads::All);
        output
    }

    /// Computes the gradient of the input, `grad W^T`.
    ///
    /// # Shapes
    /// `weight [inputs, outputs]`, `grad [rows, outputs] -> [rows, inputs]`
    #[must_use]
    pub fn input_grad(self, weight: &[f32], grad: &[f32]) -> Vec<f32> {
        let grad = Matrix::new(grad, self.rows, self.outputs, self.outputs);
        let weight = Matrix::new(weight, self.inputs, self.outputs, self.outputs).transposed();
        multiplied(grad, weight, [self.rows, self.inputs])
    }

    /// Computes the gradient of the weights, `x^T grad`.
    ///
    /// # Shapes
    /// `x [rows, inputs]`, `grad [rows, outputs] -> [inputs, outputs]`
    #[must_use]
    pub fn weight_grad(self, x: &[f32], grad: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.inputs * self.outputs];
        let size = self.rows_of_a_block();
        for from in (0..self.rows).step_by(size) {
            let rows = size.min(self.rows - from);
            let block = Self { rows, ..self };
            block.add_weight_grad(
                &x[from * self.inputs..],
                &grad[from * self.outputs..],
                &mut sum,
            );
        }
        sum
    }

    /// Adds the gradient of the weights to `sum`, `[inputs, outputs]`.
    pub(super) fn add_weight_grad(self, x: &[f32], grad: &[f32], sum: &mut [f32]) {
        let x = Matrix::new(x, self.rows, self.inputs, self.inputs).transposed();
        let grad = Matrix::new(grad, self.rows, self.outputs, self.outputs);
        let target = Target::add(sum, self.outputs);
        product(x, grad, 1.0, target, Threads::All);
    }

    /// Returns the number of rows of a block that stays in the cache. Wide layers have larger blocks, since
    /// their weights pass through the cache once for each.
    pub(super) fn rows_of_a_block(self) -> usize {
        self.inputs.min(self.outputs).max(MIN_ROWS)
    }

    /// Computes the gradient of the bias, the sum of the rows of `grad [rows, outputs]`.
    #[must_use]
    pub fn bias_grad(self, grad: &[f32]) -> Vec<f32> {
        let size = pieces::rows_of_a_piece(self.outputs) * self.outputs;
        let sums = pieces::map_shared(grad, size, |piece| {
            let mut sum = vec![0.0; self.outputs];
            pieces::add_rows(piece, self.outputs, &mut sum);
            sum
        });
        pieces::sum(sums, self.outputs)
    }
}

/// Computes `a b`, `[rows, columns]`.
fn multiplied(a: Matrix<'_>, b: Matrix<'_>, [rows, columns]: [usize; 2]) -> Vec<f32> {
    let mut output = vec![0.0; rows * columns];
    let target = Target::overwrite(&mut output, columns);
    product(a, b, 1.0, target, Threads::All);
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_values::value;

    #[test]
    fn gradients_are_those_of_plain_loops() {
        for (rows, inputs, outputs) in [(1, 1, 1), (5, 3, 7), (40, 20, 9), (0, 2, 3)] {
            let sizes = Linear {
                rows,
                inputs,
                outputs,
            };
            let x: Vec<f32> = (0..rows * inputs).map(value).collect();
            let weight: Vec<f32> = (0..inputs * outputs).map(|i| value(i + 7)).collect();
            let bias: Vec<f32> = (0..outputs).map(|i| value(i + 11)).collect();
            let grad: Vec<f32> = (0..rows * outputs).map(|i| value(i + 17)).collect();
            let close = |found: &[f32], expected: Vec<f32>| {
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(expected) {
                    assert!((found - expected).abs() < 1e-4, "{found} {expected}");
                }
            };
            let places = |n: usize, m: usize| (0..n * m).map(move |i| (i / m, i % m));
            let output = |(r, o)| {
                let dot = (0..inputs).map(|i| x[r * inputs + i] * weight[i * outputs + o]);
                bias[o] + dot.sum::<f32>()
            };
            let expected = places(rows, outputs).map(output).collect();
            close(&sizes.forward(&x, &weight, Some(&bias)), expected);
            let input = |(r, i)| {
                let dot = (0..outputs).map(|o| grad[r * outputs + o] * weight[i * outputs + o]);
                dot.sum()
            };
            close(
                &sizes.input_grad(&weight, &grad),
                places(rows, inputs).map(input).collect(),
            );
            let of_weight = |(i, o)| {
                let dot = (0..rows).map(|r| x[r * inputs + i] * grad[r * outputs + o]);
                dot.sum()
            };
            let expected = places(inputs, outputs).map(of_weight).collect();
            close(&sizes.weight_grad(&x, &grad), expected);
            let of_bias = |o| (0..rows).map(|r| grad[r * outputs + o]).sum();
            close(&sizes.bias_grad(&grad), (0..outputs).map(of_bias).collect());
        }
    }
}
