//! A convolution with TensorFlow's SAME padding: the output has side `ceil(side / stride)`. If the
//! padding is odd, the additional row and column are at the bottom and on the right.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};
use espalier_kernels::same_padding;

use super::batch_norm::BatchNorm;
use crate::ops::{self, ConvSizes};

/// Sizes of a [`SameConv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameConvSizes {
    /// Input channels.
    pub d_in: usize,
    /// Output channels.
    pub d_out: usize,
    /// Side of the kernel in pixels.
    pub kernel: usize,
    /// Stride in pixels.
    pub stride: usize,
    /// Whether each channel has its own kernel; then `d_out` is `d_in`.
    pub depthwise: bool,
}

/// A convolution with SAME padding, dense or depthwise.
#[derive(Module, Debug)]
pub struct SameConv {
    /// Kernels, `[d_out, d_in, kernel, kernel]`; `[d_in, 1, kernel, kernel]` if depthwise.
    pub weight: Param<Tensor<4>>,
    /// Added to each output channel, `[d_out]`; present if a norm was folded into the convolution.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    stride: usize,
    #[module(skip)]
    groups: usize,
}

impl SameConv {
    /// Builds the layer on a device. Kernels are normal with variance `2 / (kernel^2 d_out)`
    /// (`2 / kernel^2` if depthwise), as EfficientNet initialises them.
    #[must_use]
    pub fn new(sizes: SameConvSizes, bias: bool, device: &Device) -> Self {
        let SameConvSizes {
            d_in,
            d_out,
            kernel,
            stride,
            depthwise,
        } = sizes;
        let (groups, fan_out) = if depthwise { (d_in, 1) } else { (1, d_out) };
        let std = (2.0 / (kernel * kernel * fan_out) as f64).sqrt();
        let normal = Initializer::Normal { mean: 0.0, std };
        Self {
            weight: normal.init([d_out, d_in / groups, kernel, kernel], device),
            bias: bias.then(|| Initializer::Zeros.init([d_out], device)),
            stride,
            groups,
        }
    }

    /// # Shapes
    /// `[batch, d_in, h, w] -> [batch, d_out, ceil(h / stride), ceil(w / stride)]`
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        self.apply(x, self.weight.val(), self.bias.as_ref().map(Param::val))
    }

    /// Applies the convolution and the norm after it. If the norm uses its running statistics, it
    /// is multiplied into the kernels first; this gives the same result without any cost per pixel.
    ///
    /// # Shapes
    /// As [`forward`](Self::forward).
    pub fn forward_normed(&self, x: Tensor<4>, norm: Option<&BatchNorm>) -> Tensor<4> {
        match norm {
            None => self.forward(x),
            Some(norm) if norm.uses_batch_statistics() => {
                norm.forward_batch(self.forward(x), false)
            }
            Some(norm) => {
                let (weight, shift) = self.normed(norm);
                self.apply(x, weight, Some(shift))
            }
        }
    }

    /// Applies the convolution, the norm after it and ReLU6.
    ///
    /// # Shapes
    /// As [`forward`](Self::forward).
    pub fn forward_rectified(&self, x: Tensor<4>, norm: Option<&BatchNorm>) -> Tensor<4> {
        match norm {
            Some(norm) if norm.uses_batch_statistics() => norm.forward_batch(self.forward(x), true),
            _ => ops::relu6(self.forward_normed(x, norm)),
        }
    }

    /// Returns this convolution with the norm after it, by its running statistics, folded into
    /// kernels and bias.
    #[must_use]
    pub fn folded(mut self, norm: Option<&BatchNorm>) -> Self {
        let Some(norm) = norm else { return self };
        let (weight, bias) = self.normed(norm);
        self.weight = Param::from_tensor(weight);
        self.bias = Some(Param::from_tensor(bias));
        self
    }

    /// Returns kernels and bias with a norm folded in.
    fn normed(&self, norm: &BatchNorm) -> (Tensor<4>, Tensor<1>) {
        let (scale, shift) = norm.scale_and_shift();
        let shift = match &self.bias {
            Some(bias) => shift + bias.val() * scale.clone(),
            None => shift,
        };
        let [d_out] = scale.dims();
        (self.weight.val() * scale.reshape([d_out, 1, 1, 1]), shift)
    }

    fn apply(&self, x: Tensor<4>, weight: Tensor<4>, bias: Option<Tensor<1>>) -> Tensor<4> {
        let ([batch, d_in, h, w], [d_out, _, rows, cols]) = (x.dims(), weight.dims());
        let is_product = (rows, cols, self.stride, self.groups) == (1, 1, 1, 1);
        if is_product && !ops::are_own(&x) {
            // One matrix product per image is faster than a 1x1 convolution.
            let places = x.reshape([batch, d_in, h * w]);
            let out = weight.reshape([1, d_out, d_in]).matmul(places);
            let out = match bias {
                Some(bias) => out + bias.reshape([1, d_out, 1]),
                None => out,
            };
            return out.reshape([batch, d_out, h, w]);
        }
        let padding = [
            same_padding(h, rows, self.stride),
            same_padding(w, cols, self.stride),
        ];
        let sizes = ConvSizes {
            stride: self.stride,
            padding,
            groups: self.groups,
        };
        ops::conv2d(x, weight, bias, sizes)
    }
}
