//! Inverted residuals on the kernels.

use super::activation::Activation::{None as Linear, Relu6};
use super::depthwise::{Depthwise, Sides};
use super::patches::Patches;
use super::product::PackedWeights;
use super::weights::values;
use crate::error::Result;
use crate::nn::{InvertedResidual, InvertedResiduals, SameConv};

/// The inverted residuals of an EfficientNet-Lite, with their norms folded into packed weights.
#[derive(Clone, Debug)]
pub(super) struct InvertedStages {
    stem: Patches,
    blocks: Vec<PackedResidual>,
    head: PackedWeights,
}

/// One inverted residual.
#[derive(Clone, Debug)]
struct PackedResidual {
    expand: Option<PackedWeights>,
    depthwise: Depthwise,
    stride: usize,
    project: PackedWeights,
    adds_input: bool,
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

impl PackedResidual {
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

impl InvertedStages {
    /// Folds the norms and packs the weights.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the weights cannot be read.
    pub(super) fn new(inverted: &InvertedResiduals) -> Result<Self> {
        let inverted = inverted.clone().folded();
        let stem = Conv::of(&inverted.conv_stem)?;
        let blocks = inverted.blocks.iter().map(PackedResidual::of);
        Ok(Self {
            stem: Patches::new(
                stem.dims[2],
                stem.stride,
                stem.dims[1],
                &stem.bias,
                |o, i, y, x| stem.at(o, i, y, x),
            ),
            blocks: blocks.collect::<Result<_>>()?,
            head: Conv::of(&inverted.conv_head)?.pointwise(),
        })
    }

    /// Computes the last map of normalised pixels.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [rows, columns, d_model]`
    pub(super) fn apply(&self, pixels: &[f32], sides: Sides) -> Vec<f32> {
        let after = self.stem.after(sides);
        let mut first = vec![0.0; after.pixels() * self.stem.outputs()];
        self.stem.apply(pixels, sides, None, Relu6, &mut first);
        let blocks = self.blocks.iter();
        let (last, sides) = blocks.fold((first, after), |(x, sides), block| block.apply(&x, sides));
        let mut map = vec![0.0; sides.pixels() * self.head.outputs()];
        self.head.apply(&last, None, Relu6, &mut map);
        map
    }
}
