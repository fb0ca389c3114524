//! Stages of convolutions with standardised kernels, on the kernels.

use espalier_kernels::{Activation, Padding, Patches, RGB, Sides};

use super::weights::KernelWeights;
use crate::error::Result;
use crate::nn::StageConfig;

/// Side of the kernels.
const KERNEL: usize = 3;
/// Added to the norm of a kernel, so that it is never 0.
const STANDARD_EPS: f64 = 1e-5;

/// The convolutions of an image encoder with packed weights; computes what the
/// stages of an image encoder do, for one image.
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

/// Standardises the kernels of each output to mean 0 and norm 1, and multiplies them by its gain.
fn standardise(kernels: &mut [f32], gains: &[f32]) {
    let length = (kernels.len() / gains.len().max(1)).max(1);
    for (row, gain) in kernels.chunks_mut(length).zip(gains) {
        let sum: f64 = row.iter().map(|x| f64::from(*x)).sum();
        let mean = sum / length as f64;
        let squares: f64 = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum();
        let scale = f64::from(*gain) / (squares.sqrt() + STANDARD_EPS);
        for x in row {
            *x = ((f64::from(*x) - mean) * scale) as f32;
        }
    }
}

/// Takes a convolution and packs it, weights and bias multiplied by `gain`.
fn patches(
    name: &str,
    [inputs, outputs, stride]: [usize; 3],
    gain: f32,
    weights: &mut KernelWeights,
) -> Result<Patches> {
    let shape = [outputs, inputs, KERNEL, KERNEL];
    let mut kernels = weights.floats(&format!("{name}.weight"), &shape)?;
    let gains = weights.floats(&format!("{name}.gain"), &[outputs])?;
    let mut bias = weights.floats(&format!("{name}.bias"), &[outputs])?;
    standardise(&mut kernels, &gains);
    let both = kernels.iter_mut().chain(&mut bias);
    both.for_each(|x| *x *= gain);
    let weight = |o: usize, i: usize, y: usize, x: usize| {
        kernels[((o * inputs + i) * KERNEL + y) * KERNEL + x]
    };
    let packed = Patches::new(KERNEL, stride, inputs, &bias, weight);
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
    /// Takes the weights of all stages and packs them.
    ///
    /// # Errors
    /// As [`KernelWeights`]: a tensor is missing or has another shape.
    pub(super) fn new(config: &[StageConfig], weights: &mut KernelWeights) -> Result<Self> {
        let mut stages = Vec::with_capacity(config.len());
        let mut inputs = RGB;
        for (index, stage) in config.iter().enumerate() {
            let (width, name) = (stage.width, format!("visual.stem.stages.{index}"));
            let down = format!("{name}.down");
            let down = patches(&down, [inputs, width, 2], 1.0, weights)?;
            let blocks = (0..stage.blocks).map(|block| {
                let name = format!("{name}.blocks.{block}");
                let gain = weights.floats(&format!("{name}.gain"), &[1])?[0];
                let sizes = [width, width, 1];
                Ok([
                    patches(&format!("{name}.conv1"), sizes, 1.0, weights)?,
                    patches(&format!("{name}.conv2"), sizes, gain, weights)?,
                ])
            });
            stages.push(PackedStage {
                down,
                blocks: blocks.collect::<Result<_>>()?,
            });
            inputs = width;
        }
        Ok(Self { stages })
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
