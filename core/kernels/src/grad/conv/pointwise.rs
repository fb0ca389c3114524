//! Convolution in which each position reads the channels of the same position: products of matrices, image by image.

use super::sizes::{Conv, Grads};
use crate::grad::matrix::{Matrix, Target, Threads, add_row_sums, product};
use crate::grad::pieces::{self, Start};

/// See [`Conv::forward`].
pub(super) fn forward(conv: Conv, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let (inputs, outputs, places) = (conv.inputs, conv.outputs, conv.window.places());
    let weight = Matrix::new(weight, outputs, inputs, inputs);
    let start = Start::Zeros(conv.batch * outputs * places);
    let (output, _) = pieces::compute(start, outputs * places, |image, output| {
        let x = Matrix::new(&x[image * inputs * places..], inputs, places, places);
        let target = match bias {
            None => Target::overwrite(output, places),
            Some(bias) => {
                for (row, bias) in output.chunks_exact_mut(places.max(1)).zip(bias) {
                    row.fill(*bias);
                }
                Target::add(output, places)
            }
        };
        product(weight, x, 1.0, target, Threads::One);
    });
    output
}

/// See [`Conv::backward`].
pub(super) fn backward(
    conv: Conv,
    x: &[f32],
    weight: &[f32],
    grad: &[f32],
    wants_x: bool,
) -> Grads {
    let (inputs, outputs, places) = (conv.inputs, conv.outputs, conv.window.places());
    let weight = Matrix::new(weight, outputs, inputs, inputs).transposed();
    let length = outputs * inputs + outputs;
    let (of_x, mut weight) = conv.gradients(wants_x, length, |images, mut of_x| {
        let mut sums = vec![0.0; length];
        let (of_weight, of_bias) = sums.split_at_mut(outputs * inputs);
        for (i, image) in images.enumerate() {
            let grad = &grad[image * outputs * places..][..outputs * places];
            add_row_sums(grad, places, of_bias);
            let grad = Matrix::new(grad, outputs, places, places);
            let x = Matrix::new(&x[image * inputs * places..], inputs, places, places);
            let target = Target::add(of_weight, inputs);
            product(grad, x.transposed(), 1.0, target, Threads::One);
            if let Some(of_x) = of_x.as_deref_mut() {
                let target = Target::overwrite(&mut of_x[i * inputs * places..], places);
                product(weight, grad, 1.0, target, Threads::One);
            }
        }
        sums
    });
    let bias = weight.split_off(outputs * inputs);
    Grads {
        x: of_x,
        weight,
        bias,
    }
}
