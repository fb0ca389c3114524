//! Attention as a node.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
use espalier_kernels::grad::attention::Attention;

impl Operation<1> for Attention {
    const IS_CHEAP: bool = false;

    fn forward(&self, [qkv]: [View<'_>; 1]) -> Array {
        let mut shape = qkv.shape.to_vec();
        if let Some(last) = shape.last_mut() {
            *last = self.width;
        }
        Array::new((*self).forward(qkv.values), &shape)
    }

    fn backward(
        &self,
        [qkv]: [View<'_>; 1],
        grad: View<'_>,
        [wanted]: [bool; 1],
    ) -> [Option<Array>; 1] {
        [wanted.then(|| Array::new((*self).backward(qkv.values, grad.values), qkv.shape))]
    }
}

/// See [`attention`](crate::ops::attention).
pub fn attention(qkv: &Tensor<3>, heads: usize, causal: bool) -> Option<Tensor<3>> {
    let [_, tokens, parts] = qkv.dims();
    let sizes = Attention {
        tokens,
        width: parts / 3,
        heads,
        causal,
    };
    apply(&sizes, [qkv.clone().into_dispatch()]).map(Tensor::from_dispatch)
}
