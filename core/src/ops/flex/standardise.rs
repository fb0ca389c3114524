//! Standardised kernels as a node.

use burn::tensor::Tensor;

use super::array::{Array, View, wanted_of};
use super::node::{Operation, apply};
use espalier_kernels::grad::standardise::Standardise;

impl Operation<2> for Standardise {
    const IS_CHEAP: bool = true;

    fn forward(&self, [weight, gain]: [View<'_>; 2]) -> Array {
        Array::new((*self).forward(weight.values, gain.values), weight.shape)
    }

    fn backward(
        &self,
        [weight, gain]: [View<'_>; 2],
        grad: View<'_>,
        wanted: [bool; 2],
    ) -> [Option<Array>; 2] {
        let grads = (*self).backward(weight.values, gain.values, grad.values);
        wanted_of(
            [grads.weight, grads.gain],
            [weight.shape, gain.shape],
            wanted,
        )
    }
}

/// See [`standardised`](crate::ops::standardised).
pub fn standardised(weight: &Tensor<4>, gain: &Tensor<1>, eps: f64) -> Option<Tensor<4>> {
    let [count, sizes @ ..] = weight.dims();
    let width = sizes.iter().product();
    if gain.dims() != [count] || width == 0 {
        return None;
    }
    let operation = Standardise {
        width,
        eps: eps as f32,
    };
    let inputs = [weight.clone().into_dispatch(), gain.clone().into_dispatch()];
    apply(&operation, inputs).map(Tensor::from_dispatch)
}
