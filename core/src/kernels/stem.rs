//! Stages of convolutions with standardised kernels, on the kernels.

use super::activation::Activation;
use super::depthwise::Sides;
use super::patches::{Padding, Patches};
use super::weights::values;
use crate::error::Result;
use crate::nn::ConvStem;
use crate::nn::conv::Conv;

/// The convolutions of an image encoder with packed weights; computes what [`ConvStem::forward`]
/// does, for one image.
#[derive(Clone, Debug)]
pub(super) struct PackedStem {
    stages: Vec<PackedStage>,
}

#[derive(Clone, Debug)]
struct PackedStage {
    down: Patches,
    /// The two convolutions of each residual block; the second one includes the block's gain.
    blocks: Vec<[Patches; 2]>,
}

/// Packs a convolution, its weights and bias multiplied by `gain`.
fn patches(conv: &Conv, gain: f32) -> Result<Patches> {
    let kernels = conv.kernels();
    let [_, inputs, kernel, _] = kernels.dims();
    let kernels = values(kernels)?;
    let bias: Vec<f32> = values(conv.bias.val())?;
    let bias: Vec<f32> = bias.iter().map(|b| b * gain).collect();
    let weight = |o: usize, i: usize, y: usize, x: usize| {
        kernels[((o * inputs + i) * kernel + y) * kernel + x] * gain
    };
    let packed = Patches::new(kernel, conv.stride(), inputs, &bias, weight);
    Ok(packed.with_padding(Padding::Half))
}

/// Computes `activation(convolution(x)) + skip`; returns the output and its sides.
fn convolve(
    layer: &Patches,
    x: &[f32],
    sides: Sides,
    skip: Option<&[f32]>,
    activation: Activation,
) -> (Vec<f32>, Sides) {
    let after = layer.after(sides);
    let mut output = vec![0.0; after.pixels() * layer.outputs()];
    layer.apply(x, sides, skip, activation, &mut output);
    (output, after)
}

fn relu(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| Activation::Relu.apply_one(*x)).collect()
}

impl PackedStem {
    /// Packs the weights of all stages.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the weights cannot be read.
    pub(super) fn new(stem: &ConvStem) -> Result<Self> {
        let stages = stem.stages.iter().map(|stage| {
            let blocks = stage.blocks.iter().map(|block| {
                let gain = values(block.gain.val())?[0];
                Ok([patches(&block.conv1, 1.0)?, patches(&block.conv2, gain)?])
            });
            Ok(PackedStage {
                down: patches(&stage.down, 1.0)?,
                blocks: blocks.collect::<Result<_>>()?,
            })
        });
        Ok(Self {
            stages: stages.collect::<Result<_>>()?,
        })
    }

    /// Computes the tokens of normalised pixels, row by row.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [rows, columns, width of the last stage]`
    pub(super) fn apply(&self, pixels: &[f32], sides: Sides) -> Vec<f32> {
        let first = (pixels.to_vec(), sides);
        let stages = self.stages.iter().enumerate();
        let (last, _) = stages.fold(first, |(x, sides), (index, stage)| {
            let input = if index == 0 { x } else { relu(&x) };
            let (x, sides) = convolve(&stage.down, &input, sides, None, Activation::None);
            let blocks = stage.blocks.iter();
            let x = blocks.fold(x, |x, [first, second]| {
                let (inner, _) = convolve(first, &relu(&x), sides, None, Activation::Relu);
                convolve(second, &inner, sides, Some(&x), Activation::None).0
            });
            (x, sides)
        });
        relu(&last)
    }
}
