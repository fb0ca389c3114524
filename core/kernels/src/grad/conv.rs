//! Dense convolution.
//!
//! Every weight of the kernel links input positions to output positions, and multiplies the channels of the ones by
//! a matrix to give those of the others. Both factors are read straight from rows of channels (`conv/by_rows.rs`); where
//! the input has few channels, from columns of positions (`conv/by_columns.rs`). A kernel of one position needs neither
//! (`conv/pointwise.rs`).

mod by_columns;
mod by_rows;
mod pointwise;
mod products;
mod rows;
mod sizes;
mod taps;

pub use sizes::{Conv, Grads};

/// Input channels below which columns are faster than rows.
const FEW: usize = 8;

impl Conv {
    /// Computes the convolution.
    ///
    /// # Shapes
    /// `x [batch, inputs, h, w]`, `weight [outputs, inputs, kernel rows, kernel columns]`, `bias
    /// [outputs] -> [batch, outputs, output rows, output columns]`
    #[must_use]
    pub fn forward(self, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
        if self.is_pointwise() {
            pointwise::forward(self, x, weight, bias)
        } else if self.inputs < FEW {
            by_columns::forward(self, x, weight, bias)
        } else {
            by_rows::forward(self, x, weight, bias)
        }
    }

    /// Computes the gradients from that of the output, `grad [batch, outputs, output rows, output
    /// columns]`; the other shapes are those of [`forward`](Self::forward).
    #[must_use]
    pub fn backward(self, x: &[f32], weight: &[f32], grad: &[f32], wants_x: bool) -> Grads {
        if self.is_pointwise() {
            pointwise::backward(self, x, weight, grad, wants_x)
        } else if self.inputs < FEW {
            by_columns::backward(self, x, weight, grad, wants_x)
        } else {
            by_rows::backward(self, x, weight, grad, wants_x)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grad::window::{Window, every_product};
    use crate::test_values::{assert_close, value};

    /// Calls `with` with the places in output, input and weight of every multiplication.
    fn every(conv: Conv, mut with: impl FnMut(usize, usize, usize)) {
        let Conv {
            batch,
            inputs,
            outputs,
            window,
        } = conv;
        for image in 0..batch {
            for o in 0..outputs {
                for i in 0..inputs {
                    every_product(window, |output, input, tap| {
                        with(
                            (image * outputs + o) * window.places() + output,
                            (image * inputs + i) * window.pixels() + input,
                            (o * inputs + i) * window.taps() + tap,
                        );
                    });
                }
            }
        }
    }

    /// Compares values and gradients with those of plain loops.
    fn compare(conv: Conv) {
        let Conv {
            batch,
            inputs,
            outputs,
            window,
        } = conv;
        let x: Vec<f32> = (0..batch * inputs * window.pixels()).map(value).collect();
        let taps = outputs * inputs * window.taps();
        let weight: Vec<f32> = (0..taps).map(|i| value(i + 3)).collect();
        let bias: Vec<f32> = (0..outputs).map(|i| value(i + 5)).collect();
        let places = batch * outputs * window.places();
        let grad: Vec<f32> = (0..places).map(|i| value(i + 7)).collect();
        let channel = |i: usize| i / window.places() % outputs;
        let mut expected: Vec<f32> = (0..places).map(|i| bias[channel(i)]).collect();
        let (mut of_x, mut of_weight) = (vec![0.0; x.len()], vec![0.0; taps]);
        every(conv, |output, input, tap| {
            expected[output] += x[input] * weight[tap];
            of_x[input] += grad[output] * weight[tap];
            of_weight[tap] += grad[output] * x[input];
        });
        let mut of_bias = vec![0.0; outputs];
        (0..places).for_each(|i| of_bias[channel(i)] += grad[i]);
        assert_close(&conv.forward(&x, &weight, Some(&bias)), &expected);
        for wants_x in [true, false] {
            let grads = conv.backward(&x, &weight, &grad, wants_x);
            assert_close(&grads.weight, &of_weight);
            assert_close(&grads.bias, &of_bias);
            assert_eq!(grads.x.is_some(), wants_x);
            assert_close(&grads.x.unwrap_or(of_x.clone()), &of_x);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn values_and_gradients_are_those_of_plain_loops(
            batch in prop::sample::select(vec![0_usize, 1, 3, 9, 40]),
            inputs in prop::sample::select(vec![0_usize, 1, 3, 8, 13]),
            outputs in prop::sample::select(vec![0_usize, 1, 5, 32, 67]),
            side in [0_usize..7, 0_usize..7],
            kernel in prop::sample::select(vec![1_usize, 2, 3, 5]),
            stride in 1_usize..4,
            padding in (0_usize..3, 0_usize..3),
        ) {
            let window = Window::new(side, [kernel; 2], stride, [padding; 2]);
            compare(Conv { batch, inputs, outputs, window });
        }
    }

    #[test]
    fn large_images_and_many_channels_are_computed_in_parts() {
        for (inputs, outputs, side, kernel) in [
            (3, 4, [30, 25], 3),
            (20, 4, [30, 25], 3),
            (9, 4, [40, 30], 1),
            (300, 300, [2, 3], 1),
        ] {
            let padding = (kernel / 2, kernel / 2);
            let window = Window::new(side, [kernel; 2], 1, [padding; 2]);
            compare(Conv {
                batch: 2,
                inputs,
                outputs,
                window,
            });
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let window = Window::new([6, 5], [3; 2], 1, [(1, 1); 2]);
        for inputs in [3, 16] {
            let conv = Conv {
                batch: 21,
                inputs,
                outputs: 24,
                window,
            };
            let x: Vec<f32> = (0..21 * inputs * 30).map(value).collect();
            let weight: Vec<f32> = (0..24 * inputs * 9).map(value).collect();
            let grad: Vec<f32> = (0..21 * 24 * 30).map(value).collect();
            let results = [1, 3].map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.expect("threads start").install(|| {
                    let grads = conv.backward(&x, &weight, &grad, true);
                    (
                        conv.forward(&x, &weight, None),
                        grads.x,
                        grads.weight,
                        grads.bias,
                    )
                })
            });
            assert!(results[0] == results[1]);
        }
    }
}
