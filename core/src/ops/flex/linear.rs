//! A linear layer as a node.

use burn::module::Param;
use burn::nn;
use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
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

fn forward(x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
    let output = sizes(x, weight).forward(x.values, weight.values, bias);
    let mut shape = x.shape.to_vec();
    if let Some(last) = shape.last_mut() {
        *last = weight.last();
    }
    Array::new(output, &shape)
}

/// Returns the gradients of the input and of the weights.
fn backward([x, weight]: [View<'_>; 2], grad: View<'_>, wanted: [bool; 2]) -> [Option<Array>; 2] {
    let sizes = sizes(x, weight);
    let of_x = || Array::new(sizes.input_grad(weight.values, grad.values), x.shape);
    let of_weight = || Array::new(sizes.weight_grad(x.values, grad.values), weight.shape);
    [wanted[0].then(of_x), wanted[1].then(of_weight)]
}

/// Without a bias.
impl Operation<2> for Linear {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight]: [View<'_>; 2]) -> Array {
        forward(x, weight, None)
    }

    fn backward(
        &self,
        inputs: [View<'_>; 2],
        grad: View<'_>,
        wanted: [bool; 2],
    ) -> [Option<Array>; 2] {
        backward(inputs, grad, wanted)
    }
}

/// With a bias.
impl Operation<3> for Linear {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> Array {
        forward(x, weight, Some(bias.values))
    }

    fn backward(
        &self,
        [x, weight, bias]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let [of_x, of_weight] = backward([x, weight], grad, [wanted[0], wanted[1]]);
        let sizes = sizes(x, weight);
        let of_bias = || Array::new(sizes.bias_grad(grad.values), bias.shape);
        [of_x, of_weight, wanted[2].then(of_bias)]
    }
}

/// See [`linear`](crate::ops::linear).
pub fn linear<const D: usize>(layer: &nn::Linear, x: &Tensor<D>) -> Option<Tensor<D>> {
    let weight = layer.weight.val();
    if x.dims().last() != weight.dims().first() {
        return None;
    }
    let (x, weight) = (x.clone().into_dispatch(), weight.into_dispatch());
    let output = match layer.bias.as_ref().map(Param::val) {
        None => apply(&Linear, [x, weight]),
        Some(bias) => apply(&Linear, [x, weight, bias.into_dispatch()]),
    };
    output.map(Tensor::from_dispatch)
}
