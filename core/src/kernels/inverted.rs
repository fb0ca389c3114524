//! Inverted residuals on the kernels.

use espalier_kernels::Activation::Relu6;
use espalier_kernels::{
    ByteLayers, Depthwise, Expansion, FloatLayers, InvertedResidual, PackedWeights, Patches, RGB,
    Scratch, Sides,
};

use super::weights::{KernelWeights, LinearName};
use crate::error::{CoreError, Result};
use crate::model::Arithmetic;
use crate::nn::inverted_config::BlockSizes;
use crate::nn::{InvertedConfig, Norms};
use crate::weights::names::inverted_name;

/// Side of the first convolution's kernels.
const STEM_KERNEL: usize = 3;

/// The inverted residuals of an EfficientNet-Lite, with their norms folded into packed weights.
#[derive(Clone, Debug)]
pub(super) struct InvertedStages {
    /// The first layer, where the first block has an expansion of its own.
    stem: Option<Patches>,
    blocks: Vec<InvertedResidual>,
    head: PackedWeights,
}

/// Returns the names of a convolution with a folded norm.
fn conv_name(inner: &str) -> LinearName {
    LinearName {
        weight: inverted_name(&format!("{inner}.weight")),
        bias: Some(inverted_name(&format!("{inner}.bias"))),
    }
}

/// Packs the weights of a block. `stem` is the first layer if the block filters its output.
fn packed(
    index: usize,
    sizes: BlockSizes,
    stem: Option<Patches>,
    weights: &mut KernelWeights,
) -> Result<InvertedResidual> {
    let name = |conv: &str| conv_name(&format!("blocks.{index}.{conv}"));
    // The first block has no expansion. It keeps floats: rounding its weights changes the answers.
    if weights.arithmetic == Arithmetic::Int8 && sizes.expands {
        let window = [sizes.kernel, sizes.stride];
        let layers = ByteLayers {
            expand: weights.byte_linear(&name("expand_conv"), sizes.d_in, sizes.d_inner)?,
            depthwise: weights.byte_depthwise(&name("depthwise_conv"), sizes.d_inner, window)?,
            project: weights.byte_linear(&name("project_conv"), sizes.d_inner, sizes.d_out)?,
        };
        return Ok(InvertedResidual::of_bytes(layers, sizes.adds_input()));
    }
    let expand = match (sizes.expands, stem) {
        (true, _) => {
            let name = name("expand_conv");
            Expansion::Pixels(weights.linear(&name, sizes.d_in, sizes.d_inner)?)
        }
        (false, Some(stem)) => Expansion::Window(stem),
        (false, None) => Expansion::None,
    };
    let (kernel, channels) = (sizes.kernel, sizes.d_inner);
    let (filter, bias) =
        weights.with_bias(&name("depthwise_conv"), &[channels, 1, kernel, kernel])?;
    let layers = FloatLayers {
        expand,
        depthwise: Depthwise::new(kernel, sizes.stride, &bias, |c, y, x| {
            filter[(c * kernel + y) * kernel + x]
        }),
        project: weights.linear(&name("project_conv"), channels, sizes.d_out)?,
    };
    Ok(InvertedResidual::of_floats(layers, sizes.adds_input()))
}

impl InvertedStages {
    /// Takes the weights, with norms folded into the convolutions, and packs them; the last map has
    /// `d_model` channels.
    ///
    /// # Errors
    /// [`CoreError::Config`] for norms that are not folded; as [`KernelWeights`] for a tensor that
    /// is missing or has another shape.
    pub(super) fn new(
        config: &InvertedConfig,
        d_model: usize,
        weights: &mut KernelWeights,
    ) -> Result<Self> {
        if config.norms != Norms::Folded {
            return Err(CoreError::Config {
                field: "vision.inverted.norms".into(),
                expected: "Folded for inference on the kernels".into(),
                found: format!("{:?}", config.norms),
            });
        }
        let width = config.stem_width;
        let shape = [width, RGB, STEM_KERNEL, STEM_KERNEL];
        let (stem, bias) = weights.with_bias(&conv_name("conv_stem"), &shape)?;
        let stem = Patches::new(STEM_KERNEL, 2, RGB, &bias, |o, i, y, x| {
            stem[((o * RGB + i) * STEM_KERNEL + y) * STEM_KERNEL + x]
        });
        let sizes = config.blocks();
        let last = sizes.last().map_or(width, |block| block.d_out);
        let mut stem = Some(stem);
        let mut blocks = Vec::with_capacity(sizes.len());
        for (index, sizes) in sizes.into_iter().enumerate() {
            let stem = stem.take_if(|_| index == 0 && !sizes.expands);
            blocks.push(packed(index, sizes, stem, weights)?);
        }
        Ok(Self {
            stem,
            blocks,
            head: weights.linear(&conv_name("conv_head"), last, d_model)?,
        })
    }

    /// Computes the last map of normalised pixels, and its sides.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [rows, columns, d_model]`
    pub(super) fn apply(&self, pixels: &[f32], mut sides: Sides) -> (Vec<f32>, Sides) {
        let mut last: Option<Scratch<f32>> = None;
        if let Some(stem) = &self.stem {
            let after = stem.after(sides);
            let first = last.insert(Scratch::new(after.pixels() * stem.outputs()));
            stem.apply(pixels, sides, None, Relu6, first);
            sides = after;
        }
        for block in &self.blocks {
            let (output, after) = block.apply(last.as_deref().unwrap_or(pixels), sides);
            (last, sides) = (Some(output), after);
        }
        let mut map = vec![0.0; sides.pixels() * self.head.outputs()];
        let last = last.as_deref().unwrap_or(pixels);
        self.head.apply(last, None, Relu6, &mut map);
        (map, sides)
    }
}
