//! Batch norm by the statistics of the batch as a node.

use burn::tensor::Tensor;

use super::array::{Array, View, wanted_of};
use super::node::{Operation, apply, packed};
use crate::ops::types::Normed;
use espalier_kernels::grad::batch_norm::{Norm, Sizes};
use espalier_kernels::grad::rectify::Rectifier;

/// The statistics were computed from the same input before.
impl Operation<3> for Norm {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, gamma, beta]: [View<'_>; 3]) -> Array {
        let line = [gamma.values, beta.values];
        Array::new(Norm::forward(self, x.values, line), x.shape)
    }

    fn backward(
        &self,
        [x, gamma, beta]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let line = [gamma.values, beta.values];
        let grads = Norm::backward(self, x.values, line, grad.values);
        let shapes = [x.shape, gamma.shape, beta.shape];
        wanted_of([grads.x, grads.gamma, grads.beta], shapes, wanted)
    }
}

/// See [`batch_norm`](crate::ops::batch_norm).
pub fn batch_norm(
    x: &Tensor<4>,
    [gamma, beta]: [&Tensor<1>; 2],
    eps: f64,
    then_relu6: bool,
) -> Option<Normed> {
    let [_, channels, rows, columns] = x.dims();
    if gamma.dims() != [channels] || beta.dims() != [channels] {
        return None;
    }
    let sizes = Sizes {
        channels,
        places: rows * columns,
    };
    let statistics = sizes.statistics(packed(&x.clone().into_dispatch())?.view().values);
    let norm = Norm {
        sizes,
        statistics: statistics.clone(),
        eps: eps as f32,
        rectifier: then_relu6.then_some(Rectifier::Relu6),
    };
    let inputs = [
        x.clone().into_dispatch(),
        gamma.clone().into_dispatch(),
        beta.clone().into_dispatch(),
    ];
    let output = Tensor::from_dispatch(apply(&norm, inputs)?);
    let device = x.device().inner();
    Some(Normed {
        output,
        mean: Tensor::from_floats(&statistics.mean[..], &device),
        variance: Tensor::from_floats(&statistics.variance[..], &device),
    })
}
