//! ReLU and ReLU6 as nodes.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
use espalier_kernels::grad::rectify::Rectifier;

impl Operation<1> for Rectifier {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x]: [View<'_>; 1]) -> Array {
        Array::new((*self).forward(x.values), x.shape)
    }

    fn backward(
        &self,
        [x]: [View<'_>; 1],
        grad: View<'_>,
        [wanted]: [bool; 1],
    ) -> [Option<Array>; 1] {
        [wanted.then(|| Array::new((*self).backward(x.values, grad.values), x.shape))]
    }
}

/// See [`relu`](crate::ops::relu).
pub fn relu<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    apply(&Rectifier::Relu, [x.clone().into_dispatch()]).map(Tensor::from_dispatch)
}

/// See [`relu6`](crate::ops::relu6).
pub fn relu6<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    apply(&Rectifier::Relu6, [x.clone().into_dispatch()]).map(Tensor::from_dispatch)
}
