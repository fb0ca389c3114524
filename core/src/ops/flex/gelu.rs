//! GELU as a node.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
use espalier_kernels::grad::gelu as loops;

#[derive(Clone, Debug)]
struct Gelu;

impl Operation<1> for Gelu {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x]: [View<'_>; 1]) -> Array {
        Array::new(loops::forward(x.values), x.shape)
    }

    fn backward(
        &self,
        [x]: [View<'_>; 1],
        grad: View<'_>,
        [wanted]: [bool; 1],
    ) -> [Option<Array>; 1] {
        [wanted.then(|| Array::new(loops::backward(x.values, grad.values), x.shape))]
    }
}

/// See [`gelu`](crate::ops::gelu).
pub fn gelu<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    apply(&Gelu, [x.clone().into_dispatch()]).map(Tensor::from_dispatch)
}
