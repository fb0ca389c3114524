//! Convolutions as nodes: dense, and with one kernel per channel.

use burn::tensor::Tensor;

use super::array::{Array, View};
use super::node::{Operation, apply};
use crate::ops::types::ConvSizes;
use espalier_kernels::grad::conv::Conv;
use espalier_kernels::grad::depthwise;
use espalier_kernels::grad::window::Window;

/// A dense convolution.
#[derive(Clone, Debug)]
struct Dense(Conv);

impl Dense {
    fn run(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
        let [rows, columns] = self.0.window.output;
        let shape = [self.0.batch, self.0.outputs, rows, columns];
        Array::new(self.0.forward(x.values, weight.values, bias), &shape)
    }

    fn grads(
        &self,
        [x, weight]: [View<'_>; 2],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let found = self
            .0
            .backward(x.values, weight.values, grad.values, wanted[0]);
        [
            found.x.map(|values| Array::new(values, x.shape)),
            wanted[1].then(|| Array::new(found.weight, weight.shape)),
            wanted[2].then(|| Array::new(found.bias, &[self.0.outputs])),
        ]
    }
}

/// Without a bias.
impl Operation<2> for Dense {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight]: [View<'_>; 2]) -> Array {
        self.run(x, weight, None)
    }

    fn backward(
        &self,
        inputs: [View<'_>; 2],
        grad: View<'_>,
        [x, weight]: [bool; 2],
    ) -> [Option<Array>; 2] {
        let [x, weight, _] = self.grads(inputs, grad, [x, weight, false]);
        [x, weight]
    }
}

/// With a bias.
impl Operation<3> for Dense {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> Array {
        self.run(x, weight, Some(bias.values))
    }

    fn backward(
        &self,
        [x, weight, _]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        self.grads([x, weight], grad, wanted)
    }
}

/// A convolution with one kernel per channel.
#[derive(Clone, Debug)]
struct Depthwise(depthwise::Depthwise);

impl Depthwise {
    fn run(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
        let [rows, columns] = self.0.window.output;
        let shape = [x.shape[0], self.0.channels, rows, columns];
        Array::new(self.0.forward(x.values, weight.values, bias), &shape)
    }

    fn grads(
        &self,
        [x, weight]: [View<'_>; 2],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let found = self.0.backward(x.values, weight.values, grad.values);
        [
            wanted[0].then(|| Array::new(found.x, x.shape)),
            wanted[1].then(|| Array::new(found.weight, weight.shape)),
            wanted[2].then(|| Array::new(found.bias, &[self.0.channels])),
        ]
    }
}

/// Without a bias.
impl Operation<2> for Depthwise {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight]: [View<'_>; 2]) -> Array {
        self.run(x, weight, None)
    }

    fn backward(
        &self,
        inputs: [View<'_>; 2],
        grad: View<'_>,
        [x, weight]: [bool; 2],
    ) -> [Option<Array>; 2] {
        let [x, weight, _] = self.grads(inputs, grad, [x, weight, false]);
        [x, weight]
    }
}

/// With a bias.
impl Operation<3> for Depthwise {
    const IS_CHEAP: bool = false;

    fn forward(&self, [x, weight, bias]: [View<'_>; 3]) -> Array {
        self.run(x, weight, Some(bias.values))
    }

    fn backward(
        &self,
        [x, weight, _]: [View<'_>; 3],
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        self.grads([x, weight], grad, wanted)
    }
}

/// Applies a convolution with or without a bias.
fn applied<O: Operation<2> + Operation<3>>(
    operation: &O,
    x: &Tensor<4>,
    weight: &Tensor<4>,
    bias: Option<&Tensor<1>>,
) -> Option<Tensor<4>> {
    let (x, weight) = (x.clone().into_dispatch(), weight.clone().into_dispatch());
    let output = match bias {
        None => apply(operation, [x, weight]),
        Some(bias) => apply(operation, [x, weight, bias.clone().into_dispatch()]),
    };
    output.map(Tensor::from_dispatch)
}

/// See [`conv2d`](crate::ops::conv2d).
pub fn conv2d(
    x: &Tensor<4>,
    weight: &Tensor<4>,
    bias: Option<&Tensor<1>>,
    sizes: ConvSizes,
) -> Option<Tensor<4>> {
    let ([batch, inputs, h, w], [outputs, depth, rows, columns]) = (x.dims(), weight.dims());
    let window = Window::new([h, w], [rows, columns], sizes.stride, sizes.padding);
    if sizes.stride == 0 || window.taps() == 0 {
        return None;
    }
    if sizes.groups == 1 && depth == inputs {
        let conv = Conv {
            batch,
            inputs,
            outputs,
            window,
        };
        return applied(&Dense(conv), x, weight, bias);
    }
    if sizes.groups == inputs && outputs == inputs && depth == 1 {
        let conv = depthwise::Depthwise {
            channels: inputs,
            window,
        };
        return applied(&Depthwise(conv), x, weight, bias);
    }
    None
}
