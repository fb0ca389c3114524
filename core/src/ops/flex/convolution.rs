//! Convolutions as nodes: dense, and with one kernel per channel.

use burn::tensor::Tensor;

use super::affine::{Affine, apply_affine};
use super::array::{Array, View, wanted_of};
use crate::ops::types::ConvSizes;
use espalier_kernels::grad::conv::Conv;
use espalier_kernels::grad::depthwise::Depthwise;
use espalier_kernels::grad::window::Window;

/// A dense convolution.
impl Affine for Conv {
    fn forward(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
        let [rows, columns] = self.window.output;
        let shape = [self.batch, self.outputs, rows, columns];
        Array::new(Conv::forward(*self, x.values, weight.values, bias), &shape)
    }

    fn backward(
        &self,
        x: View<'_>,
        weight: View<'_>,
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let found = Conv::backward(*self, x.values, weight.values, grad.values, wanted[0]);
        [
            found.x.map(|values| Array::new(values, x.shape)),
            wanted[1].then(|| Array::new(found.weight, weight.shape)),
            wanted[2].then(|| Array::new(found.bias, &[self.outputs])),
        ]
    }
}

/// A convolution with one kernel per channel.
impl Affine for Depthwise {
    fn forward(&self, x: View<'_>, weight: View<'_>, bias: Option<&[f32]>) -> Array {
        let [rows, columns] = self.window.output;
        let shape = [x.shape[0], self.channels, rows, columns];
        let output = Depthwise::forward(*self, x.values, weight.values, bias);
        Array::new(output, &shape)
    }

    fn backward(
        &self,
        x: View<'_>,
        weight: View<'_>,
        grad: View<'_>,
        wanted: [bool; 3],
    ) -> [Option<Array>; 3] {
        let found = Depthwise::backward(*self, x.values, weight.values, grad.values);
        let shapes = [x.shape, weight.shape, &[self.channels]];
        wanted_of([found.x, found.weight, found.bias], shapes, wanted)
    }
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
        return apply_affine(conv, x, weight, bias);
    }
    if sizes.groups == inputs && outputs == inputs && depth == 1 {
        let conv = Depthwise {
            channels: inputs,
            window,
        };
        return apply_affine(conv, x, weight, bias);
    }
    None
}
