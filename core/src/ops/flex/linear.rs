//! A linear layer as a node.

use burn::module::Param;
use burn::nn;
use burn::tensor::Tensor;

use super::affine::{Affine, apply_affine};
use super::array::{Array, View};
use espalier_kernels::grad::linear as loops;

#[derive(Clone, Debug)]
struct Linear;

fn sizes(x: View<'_>, weight: View<'_>) -> loops::Linear {
    loops::Linear {
        rows: x.rows(),
        inputs: x.last(),
        outputs: weight.last(),
    }
}

impl Affine for Linear {
    fn forward(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
        let output = sizes(x, weight).forward(x.values, weight.values, bias);
        let mut shape = x.shape.to_vec();
        if let Some(last) = shape.last_mut() {
            *last = weight.last();
        }
        Array::new(output, &shape)
    }

    fn backward(
        &self,
        x: View<'_>,
        weight: View<'_>,
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let sizes = sizes(x, weight);
        let of_x = || Array::new(sizes.input_grad(weight.values, grad.values), x.shape);
        let of_weight = || Array::new(sizes.weight_grad(x.values, grad.values), weight.shape);
        let of_bias = || Array::new(sizes.bias_grad(grad.values), &[sizes.outputs]);
        [
            wanted[0].then(of_x),
            wanted[1].then(of_weight),
            wanted[2].then(of_bias),
        ]
    }
}

/// See [`linear`](crate::ops::linear).
pub fn linear<const D: usize>(layer: &nn::Linear, x: &Tensor<D>) -> Option<Tensor<D>> {
    let weight = layer.weight.val();
    if x.dims().last() != weight.dims().first() {
        return None;
    }
    let bias = layer.bias.as_ref().map(Param::val);
    apply_affine(Linear, x, &weight, bias.as_ref())
}
