//! Layer norm as a node.

use burn::nn::LayerNorm;
use burn::tensor::Tensor;

use super::array::{Array, View, wanted_of};
use super::node::{Operation, apply};
use espalier_kernels::grad::layer_norm as loops;

#[derive(Clone, Debug)]
struct Norm {
    eps: f32,
}

impl Operation<3> for Norm {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x, gamma, beta]: [View<'_>; 3]) -> Array {
        let output = loops::forward(x.values, gamma.values, beta.values, self.eps);
        Array::new(output, x.shape)
    }

    fn backward(
        &self,
        [x, gamma, beta]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let grads = loops::backward(x.values, gamma.values, self.eps, grad.values);
        let shapes = [x.shape, gamma.shape, beta.shape];
        wanted_of([grads.x, grads.gamma, grads.beta], shapes, wanted)
    }
}

/// See [`layer_norm`](crate::ops::layer_norm).
pub fn layer_norm<const D: usize>(layer: &LayerNorm, eps: f64, x: &Tensor<D>) -> Option<Tensor<D>> {
    let (gamma, beta) = (layer.gamma.val(), layer.beta.as_ref()?.val());
    if x.dims().last() != gamma.dims().last() {
        return None;
    }
    let inputs = [
        x.clone().into_dispatch(),
        gamma.into_dispatch(),
        beta.into_dispatch(),
    ];
    apply(&Norm { eps: eps as f32 }, inputs).map(Tensor::from_dispatch)
}
