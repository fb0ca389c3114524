//! Operations whose inputs are always the same in number, as nodes.

use burn::backend::DispatchTensor;
use burn::nn::LayerNorm;
use burn::tensor::Tensor;
use espalier_kernels::grad as kernels;
use espalier_kernels::grad::attention::Attention;
use espalier_kernels::grad::batch_norm::{Norm, Sizes};
use espalier_kernels::grad::rectify::Rectifier;
use espalier_kernels::grad::standardise::Standardise;

use super::array::{Array, View, wanted_of};
use super::node::{Operation, apply, packed};
use crate::ops::types::Normed;

fn input<const D: usize>(x: &Tensor<D>) -> DispatchTensor {
    x.clone().into_dispatch()
}

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
    apply(&sizes, [input(qkv)])
}

/// See [`sum_of_squares`](crate::ops::sum_of_squares).
pub fn sum_of_squares<const D: usize>(x: &Tensor<D>) -> Option<Tensor<1>> {
    let sum = kernels::squares::sum_of_squares(packed(&input(x))?.view().values);
    Some(Tensor::from_floats([sum], &x.device()))
}

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
    let statistics = sizes.statistics(packed(&input(x))?.view().values);
    let norm = Norm {
        sizes,
        statistics: statistics.clone(),
        eps: eps as f32,
        rectifier: then_relu6.then_some(Rectifier::Relu6),
    };
    let device = x.device().inner();
    Some(Normed {
        output: apply(&norm, [input(x), input(gamma), input(beta)])?,
        mean: Tensor::from_floats(&statistics.mean[..], &device),
        variance: Tensor::from_floats(&statistics.variance[..], &device),
    })
}

#[derive(Clone, Debug)]
struct RowNorm {
    eps: f32,
}

impl Operation<3> for RowNorm {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x, gamma, beta]: [View<'_>; 3]) -> Array {
        let output = kernels::layer_norm::forward(x.values, gamma.values, beta.values, self.eps);
        Array::new(output, x.shape)
    }

    fn backward(
        &self,
        [x, gamma, beta]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let grads = kernels::layer_norm::backward(x.values, gamma.values, self.eps, grad.values);
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
    let norm = RowNorm { eps: eps as f32 };
    apply(&norm, [input(x), input(&gamma), input(&beta)])
}

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
    apply(&Rectifier::Relu, [input(x)])
}

/// See [`relu6`](crate::ops::relu6).
pub fn relu6<const D: usize>(x: &Tensor<D>) -> Option<Tensor<D>> {
    apply(&Rectifier::Relu6, [input(x)])
}

#[derive(Clone, Debug)]
struct Residual;

impl Operation<3> for Residual {
    const IS_CHEAP: bool = true;

    fn forward(&self, [x, branch, gain]: [View<'_>; 3]) -> Array {
        let output = kernels::residual::forward(x.values, branch.values, gain.values[0]);
        Array::new(output, x.shape)
    }

    fn backward(
        &self,
        [x, branch, gain]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let grads = kernels::residual::backward(branch.values, gain.values[0], grad.values);
        let (of_branch, of_gain) = grads;
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
    apply(&Residual, [input(x), input(branch), input(gain)])
}

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
        let shapes = [weight.shape, gain.shape];
        wanted_of([grads.weight, grads.gain], shapes, wanted)
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
    apply(&operation, [input(weight), input(gain)])
}
