//! A convolution with standardised kernels, and a residual block of two of them.
//!
//! Only the kernels are normalised, not the activations. So parts of a batch can be computed
//! separately, a photo has the same output alone as in a training batch, and no time is spent on
//! statistics of activations (Brock et al. 2021, "Characterizing signal propagation to close the
//! performance gap in unnormalized ResNets").

use burn::module::{Initializer, Module, Param};
use burn::tensor::module::linear;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::ops::{self, ConvSizes, add_scaled, relu};

/// Side of the kernels.
const KERNEL: usize = 3;
/// Up to this number of output positions the whole batch is computed as one matrix product: one
/// product per image would be too small to be fast.
const FEW_PLACES: usize = 16;
/// Added to the norm of a kernel, so that it is never 0.
const EPS: f64 = 1e-5;
/// Gain of kernels whose input is pixels.
pub(super) const PIXEL_GAIN: f64 = 1.0;
/// Gain of kernels whose input is rectified: `sqrt(2 / (1 - 1/pi))`, which gives a rectified standard
/// normal variable the variance 1 that it had before.
pub(super) const RELU_GAIN: f64 = 1.712_858_550_449_662_7;

/// 3 x 3 convolution with zero padding. The kernel of each output channel is standardised to mean 0
/// and norm 1, then multiplied by a gain.
#[derive(Module, Debug)]
pub struct Conv {
    /// Kernels before they are standardised, `[d_out, d_in, 3, 3]`.
    pub weight: Param<Tensor<4>>,
    /// Gain of each standardised kernel, which is then its norm, `[d_out]`.
    pub gain: Param<Tensor<1>>,
    /// Added to each output, `[d_out]`.
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    stride: usize,
}

impl Conv {
    /// Builds the layer on a device, with the gain that its kind of input needs.
    pub(super) fn new(
        [d_in, d_out]: [usize; 2],
        stride: usize,
        gain: f64,
        device: &Device,
    ) -> Self {
        let std = ((d_in * KERNEL * KERNEL) as f64).powf(-0.5);
        let normal = Initializer::Normal { mean: 0.0, std };
        Self {
            weight: normal.init([d_out, d_in, KERNEL, KERNEL], device),
            gain: Initializer::Constant { value: gain }.init([d_out], device),
            bias: Initializer::Zeros.init([d_out], device),
            stride,
        }
    }

    /// Returns the standardised kernels times their gains, `[d_out, d_in, 3, 3]`.
    pub(crate) fn kernels(&self) -> Tensor<4> {
        ops::standardised(self.weight.val(), self.gain.val(), EPS)
    }

    /// # Shapes
    /// `[batch, d_in, h, w] -> [batch, d_out, ceil(h / stride), ceil(w / stride)]`
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let [_, _, h, w] = x.dims();
        let places = h.div_ceil(self.stride) * w.div_ceil(self.stride);
        if places <= FEW_PLACES && !ops::are_own(&x) {
            return self.forward_few(x);
        }
        let sizes = ConvSizes {
            stride: self.stride,
            padding: [(KERNEL / 2, KERNEL / 2); 2],
            groups: 1,
        };
        ops::conv2d(x, self.kernels(), Some(self.bias.val()), sizes)
    }

    /// Computes the same as one matrix product: the 3 x 3 neighbourhoods of all positions times the
    /// kernels.
    fn forward_few(&self, x: Tensor<4>) -> Tensor<4> {
        let ([batch, d_in, h, w], device) = (x.dims(), x.device());
        let (rows, cols) = (h.div_ceil(self.stride), w.div_ceil(self.stride));
        let places = x.permute([0, 2, 3, 1]).reshape([batch * h * w, d_in]);
        // Positions outside the image read one additional row of zeros.
        let places = Tensor::cat(vec![places, Tensor::zeros([1, d_in], &device)], 0);
        let near = neighbours(batch, [h, w], self.stride);
        let count = near.len();
        let near = Tensor::<1, Int>::from_data(TensorData::new(near, [count]), &device);
        let near = places
            .select(0, near)
            .reshape([batch * rows * cols, KERNEL * KERNEL * d_in]);
        let kernels = self.kernels().permute([2, 3, 1, 0]);
        let [.., d_out] = kernels.dims();
        let kernels = kernels.reshape([KERNEL * KERNEL * d_in, d_out]);
        linear(near, kernels, Some(self.bias.val()))
            .reshape([batch, rows, cols, d_out])
            .permute([0, 3, 1, 2])
    }
}

/// Returns the input rows that each output position of a convolution reads,
/// `batch * rows * cols * 9` of them; `batch * h * w` stands for a position outside the image.
fn neighbours(batch: usize, [h, w]: [usize; 2], stride: usize) -> Vec<i32> {
    let (rows, cols) = (h.div_ceil(stride), w.div_ceil(stride));
    let outside = batch * h * w;
    let mut near = Vec::with_capacity(batch * rows * cols * KERNEL * KERNEL);
    for at in 0..batch * rows * cols {
        let (image, row, col) = (at / (rows * cols), at / cols % rows, at % cols);
        for place in 0..KERNEL * KERNEL {
            // One larger than the real row and column, so that 0 is the padding above and to the
            // left.
            let y = row * stride + place / KERNEL;
            let x = col * stride + place % KERNEL;
            let inside = (1..=h).contains(&y) && (1..=w).contains(&x);
            let found = || (image * h + y - 1) * w + x - 1;
            near.push(if inside { found() } else { outside } as i32);
        }
    }
    near
}

/// `x += gain * conv2(relu(conv1(relu(x))))`, with a gain that starts at 0.
#[derive(Module, Debug)]
pub struct ConvBlock {
    /// First convolution.
    pub conv1: Conv,
    /// Second convolution.
    pub conv2: Conv,
    /// Weight of the residual branch, `[1]`.
    pub gain: Param<Tensor<1>>,
}

impl ConvBlock {
    /// Builds a block of `width` channels on a device.
    pub fn new(width: usize, device: &Device) -> Self {
        let conv = || Conv::new([width; 2], 1, RELU_GAIN, device);
        Self {
            conv1: conv(),
            conv2: conv(),
            gain: Initializer::Zeros.init([1], device),
        }
    }

    /// # Shapes
    /// `[batch, width, h, w] -> [batch, width, h, w]`
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let inner = self.conv1.forward(relu(x.clone()));
        let inner = self.conv2.forward(relu(inner));
        add_scaled(x, inner, self.gain.val())
    }
}
