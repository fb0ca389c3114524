//! Inverted residuals on the kernels.

use espalier_kernels::Activation::Relu6;
use espalier_kernels::{Depthwise, InvertedResidual, PackedWeights, Patches, RGB, Sides};

use super::weights::{KernelWeights, LinearName};
use crate::error::{CoreError, Result};
use crate::nn::inverted_config::BlockSizes;
use crate::nn::{InvertedConfig, Norms};
use crate::weights::names::inverted_name;

/// Side of the first convolution's kernels.
const STEM_KERNEL: usize = 3;

/// The inverted residuals of an EfficientNet-Lite, with their norms folded into packed weights.
#[derive(Clone, Debug)]
pub(super) struct InvertedStages {
    stem: Patches,
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

/// Packs the weights of a block.
fn packed(
    index: usize,
    sizes: BlockSizes,
    weights: &mut KernelWeights,
) -> Result<InvertedResidual> {
    let BlockSizes {
        d_in,
        d_inner,
        d_out,
        kernel,
        stride,
        ..
    } = sizes;
    let name = |conv: &str| format!("blocks.{index}.{conv}");
    let expand = conv_name(&name("expand_conv"));
    let expand = sizes
        .expands
        .then(|| weights.linear(&expand, d_in, d_inner));
    let filter = inverted_name(&name("depthwise_conv.weight"));
    let filter = weights.floats(&filter, &[d_inner, 1, kernel, kernel])?;
    let bias = inverted_name(&name("depthwise_conv.bias"));
    let bias = weights.floats(&bias, &[d_inner])?;
    Ok(InvertedResidual {
        expand: expand.transpose()?,
        depthwise: Depthwise::new(kernel, stride, &bias, |c, y, x| {
            filter[(c * kernel + y) * kernel + x]
        }),
        project: weights.linear(&conv_name(&name("project_conv")), d_inner, d_out)?,
        adds_input: sizes.adds_input(),
    })
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
        let stem = inverted_name("conv_stem.weight");
        let stem = weights.floats(&stem, &[width, RGB, STEM_KERNEL, STEM_KERNEL])?;
        let bias = weights.floats(&inverted_name("conv_stem.bias"), &[width])?;
        let stem = Patches::new(STEM_KERNEL, 2, RGB, &bias, |o, i, y, x| {
            stem[((o * RGB + i) * STEM_KERNEL + y) * STEM_KERNEL + x]
        });
        let sizes = config.blocks();
        let last = sizes.last().map_or(width, |block| block.d_out);
        let blocks = sizes.into_iter().enumerate();
        let blocks = blocks.map(|(index, sizes)| packed(index, sizes, weights));
        Ok(Self {
            stem,
            blocks: blocks.collect::<Result<_>>()?,
            head: weights.linear(&conv_name("conv_head"), last, d_model)?,
        })
    }

    /// Computes the last map of normalised pixels, and its sides.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [rows, columns, d_model]`
    pub(super) fn apply(&self, pixels: &[f32], sides: Sides) -> (Vec<f32>, Sides) {
        let after = self.stem.after(sides);
        let mut first = vec![0.0; after.pixels() * self.stem.outputs()];
        self.stem.apply(pixels, sides, None, Relu6, &mut first);
        let blocks = self.blocks.iter();
        let (last, sides) = blocks.fold((first, after), |(x, sides), block| block.apply(&x, sides));
        let mut map = vec![0.0; sides.pixels() * self.head.outputs()];
        self.head.apply(&last, None, Relu6, &mut map);
        (map, sides)
    }
}
