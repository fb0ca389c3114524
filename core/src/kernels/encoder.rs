//! An encoder of inverted residuals on the kernels.

use burn::tensor::Tensor;
use image::RgbImage;

use super::activation::Activation::{None as Linear, Relu6};
use super::depthwise::{Depthwise, Sides};
use super::patches::Patches;
use super::product::PackedWeights;
use crate::error::{CoreError, Result};
use crate::model::ImageEncoder;
use crate::nn::{InvertedResidual, SameConv};

/// Channels of an image.
const RGB: usize = 3;

/// The image encoder of an EfficientNet-Lite, with its norms folded into packed weights.
///
/// It computes what [`ImageEncoder::pooled`] does, up to rounding.
#[derive(Clone, Debug)]
pub struct InvertedEncoder {
    mean: [f32; RGB],
    std: [f32; RGB],
    stem: Patches,
    stem_stride: usize,
    stem_width: usize,
    blocks: Vec<PackedBlock>,
    head: PackedWeights,
}

/// One inverted residual.
#[derive(Clone, Debug)]
struct PackedBlock {
    expand: Option<PackedWeights>,
    depthwise: Depthwise,
    stride: usize,
    project: PackedWeights,
    adds_input: bool,
}

/// Reads the values of a tensor.
fn values<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let data = tensor.into_data().convert::<f32>();
    let values = data.try_into_vec();
    values.map_err(|e| CoreError::Device(format!("a weight has another type: {e:?}")))
}

/// A convolution's weights `[d_out, d_in, k, k]` and its bias.
struct Conv {
    weight: Vec<f32>,
    dims: [usize; 4],
    bias: Vec<f32>,
    stride: usize,
}

impl Conv {
    fn of(conv: &SameConv) -> Result<Self> {
        let weight = conv.weight.val();
        let dims = weight.dims();
        let bias = conv.bias.as_ref();
        let bias = bias.map(|bias| values(bias.val())).transpose()?;
        Ok(Self {
            weight: values(weight)?,
            dims,
            bias: bias.unwrap_or_else(|| vec![0.0; dims[0]]),
            stride: conv.stride(),
        })
    }

    fn at(&self, output: usize, input: usize, row: usize, column: usize) -> f32 {
        let [_, inputs, kernel, _] = self.dims;
        self.weight[((output * inputs + input) * kernel + row) * kernel + column]
    }

    fn pointwise(&self) -> PackedWeights {
        PackedWeights::new(self.dims[1], &self.bias, |output, input| {
            self.at(output, input, 0, 0)
        })
    }
}

impl PackedBlock {
    fn of(block: &InvertedResidual) -> Result<Self> {
        let expand = block.expand_conv.as_ref().map(Conv::of).transpose()?;
        let filter = Conv::of(&block.depthwise_conv)?;
        Ok(Self {
            expand: expand.map(|conv| conv.pointwise()),
            depthwise: Depthwise::new(filter.dims[2], filter.stride, &filter.bias, |c, y, x| {
                filter.at(c, 0, y, x)
            }),
            stride: filter.stride,
            project: Conv::of(&block.project_conv)?.pointwise(),
            adds_input: block.adds_input(),
        })
    }

    /// Computes the block; returns the output and its sides.
    fn apply(&self, input: &[f32], sides: Sides) -> (Vec<f32>, Sides) {
        let wide = self.expand.as_ref().map(|expand| {
            let mut wide = vec![0.0; sides.pixels() * expand.outputs()];
            expand.apply(input, None, Relu6, &mut wide);
            wide
        });
        let after = sides.after(self.stride);
        let mut filtered = vec![0.0; after.pixels() * self.project.inputs()];
        let wide = wide.as_deref().unwrap_or(input);
        self.depthwise.apply(wide, sides, Relu6, &mut filtered);
        let mut output = vec![0.0; after.pixels() * self.project.outputs()];
        let skip = self.adds_input.then_some(input);
        self.project.apply(&filtered, skip, Linear, &mut output);
        (output, after)
    }
}

impl InvertedEncoder {
    /// Packs the weights of an encoder; `None` for an encoder of another kind.
    ///
    /// # Errors
    /// [`CoreError::Device`] when the weights cannot be read.
    pub fn new(encoder: &ImageEncoder) -> Result<Option<Self>> {
        let Some(inverted) = encoder.visual.inverted_alone() else {
            return Ok(None);
        };
        let inverted = inverted.clone().folded();
        let stem = Conv::of(&inverted.conv_stem)?;
        let statistics = |values: Vec<f32>| -> Result<[f32; RGB]> {
            let found = values.len();
            values.try_into().map_err(|_| CoreError::TensorShape {
                tensor: "pixel_mean and pixel_std".into(),
                expected: vec![RGB],
                found: vec![found],
            })
        };
        Ok(Some(Self {
            mean: statistics(values(encoder.pixel_mean.val())?)?,
            std: statistics(values(encoder.pixel_std.val())?)?,
            stem: Patches::new(stem.dims[2], stem.stride, RGB, &stem.bias, |o, i, y, x| {
                stem.at(o, i, y, x)
            }),
            stem_stride: stem.stride,
            stem_width: stem.dims[0],
            blocks: inverted
                .blocks
                .iter()
                .map(PackedBlock::of)
                .collect::<Result<_>>()?,
            head: Conv::of(&inverted.conv_head)?.pointwise(),
        }))
    }

    /// Computes the feature of an image of any size.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [d_model]`
    #[must_use]
    pub fn pooled(&self, image: &RgbImage) -> Vec<f32> {
        let sides = Sides {
            height: image.height() as usize,
            width: image.width() as usize,
        };
        let after = sides.after(self.stem_stride);
        let mut first = vec![0.0; after.pixels() * self.stem_width];
        self.stem
            .apply(&self.normalised(image), sides, Relu6, &mut first);
        let blocks = self.blocks.iter();
        let (last, sides) = blocks.fold((first, after), |(x, sides), block| block.apply(&x, sides));
        let width = self.head.outputs();
        let mut map = vec![0.0; sides.pixels() * width];
        self.head.apply(&last, None, Relu6, &mut map);
        let mut mean = vec![0.0; width];
        for pixel in map.chunks_exact(width.max(1)) {
            mean.iter_mut().zip(pixel).for_each(|(sum, x)| *sum += x);
        }
        let pixels = sides.pixels().max(1) as f32;
        mean.iter_mut().for_each(|sum| *sum /= pixels);
        mean
    }

    /// Returns `(v / 255 - mean) / std` of all values.
    fn normalised(&self, image: &RgbImage) -> Vec<f32> {
        let pixels = image.as_raw().as_chunks::<RGB>().0;
        let pixels = pixels.iter().flat_map(|pixel| {
            let channel = |c: usize| (f32::from(pixel[c]) / 255.0 - self.mean[c]) / self.std[c];
            [channel(0), channel(1), channel(2)]
        });
        pixels.collect()
    }
}
