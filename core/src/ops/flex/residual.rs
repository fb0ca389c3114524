//! A sum with a weighted branch as a node.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
use espalier_kernels::grad::residual as loops;

#[derive(Clone, Debug)]
struct Residual;

impl Operation<3> for Residual {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x, branch, gain]: [View<'_>; 3]) -> Array {
        Array::new(
            loops::forward(x.values, branch.values, gain.values[0]),
            x.shape,
        )
    }

    fn backward(
        &self,
        [x, branch, gain]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let (of_branch, of_gain) = loops::backward(branch.values, gain.values[0], grad.values);
        [
            wanted[0].then(|| Array::new(grad.values.to_vec(), x.shape)),
            wanted[1].then(|| Array::new(of_branch, branch.shape)),
            wanted[2].then(|| Array::new(vec![of_gain], gain.shape)),
        ]
    }
}

/// See [`add_scaled`](crate::ops::add_scaled).
pub fn add_scaled(x: &Tensor<4>, branch: &Tensor<4>, gain: &Tensor<1>) -> Option<Tensor<4>> {
    if x.dims() != branch.dims() || gain.dims() != [1] {
        return None;
    }
    let inputs = [
        x.clone().into_dispatch(),
        branch.clone().into_dispatch(),
        gain.clone().into_dispatch(),
    ];
    apply(&Residual, inputs).map(Tensor::from_dispatch)
}
