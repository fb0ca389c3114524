//! Pre-norm transformer blocks on the kernels.

use espalier_kernels::Activation::None as Linear;
use espalier_kernels::{Gelu, Heads, PackedWeights, Projections, RowNorm};

use super::weights::{KernelWeights, LinearName};
use crate::error::Result;
use crate::nn::Activation;

/// A transformer block with packed weights; computes `x += attn(norm1(x)); x += mlp(norm2(x))` for
/// one image or text.
#[derive(Clone, Debug)]
pub(super) struct PackedBlock {
    norm1: RowNorm,
    qkv: PackedWeights,
    heads: Heads,
    proj: PackedWeights,
    norm2: RowNorm,
    fc1: PackedWeights,
    gelu: Gelu,
    fc2: PackedWeights,
}

/// Returns `input W + bias`, plus `skip` if given.
fn product(weights: &PackedWeights, input: &[f32], skip: Option<&[f32]>) -> Vec<f32> {
    let rows = input.len() / weights.inputs().max(1);
    let mut output = vec![0.0; rows * weights.outputs()];
    weights.apply(input, skip, Linear, &mut output);
    output
}

/// Sizes of a transformer block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSizes {
    pub width: usize,
    pub hidden: usize,
    pub heads: Heads,
    pub activation: Activation,
    pub norm_eps: f64,
}

impl PackedBlock {
    /// Takes the weights of a block and packs them. `name` makes the public name of a parameter
    /// from its name within an image encoder's block, for example `norm1.weight`.
    ///
    /// # Errors
    /// As [`KernelWeights`]: a tensor is missing or has another shape.
    pub(super) fn new(
        sizes: BlockSizes,
        weights: &mut KernelWeights,
        name: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let BlockSizes { width, hidden, .. } = sizes;
        let linear = |layer: &str| LinearName {
            weight: name(&format!("{layer}.weight")),
            bias: Some(name(&format!("{layer}.bias"))),
        };
        let norm = |layer: &str| {
            let weight = name(&format!("{layer}.weight"));
            weight.trim_end_matches(".weight").to_owned()
        };
        Ok(Self {
            norm1: weights.row_norm(&norm("norm1"), width, sizes.norm_eps)?,
            qkv: weights.linear(&linear("attn.qkv"), width, 3 * width)?,
            heads: sizes.heads,
            proj: weights.linear(&linear("attn.proj"), width, width)?,
            norm2: weights.row_norm(&norm("norm2"), width, sizes.norm_eps)?,
            fc1: weights.linear(&linear("mlp.fc1"), width, hidden)?,
            gelu: match sizes.activation {
                Activation::Gelu => Gelu::Exact,
                Activation::QuickGelu => Gelu::Quick,
            },
            fc2: weights.linear(&linear("mlp.fc2"), hidden, width)?,
        })
    }

    /// Computes the block for all tokens.
    ///
    /// # Shapes
    /// `[tokens, width] -> [tokens, width]`
    pub(super) fn apply(&self, x: &[f32]) -> Vec<f32> {
        let tokens: Vec<usize> = (0..x.len() / self.proj.outputs().max(1)).collect();
        self.apply_at(x, &tokens)
    }

    /// Computes the block at some tokens; the others are only attended to.
    ///
    /// # Shapes
    /// `x [tokens, width]`, `at` in `0..tokens` `-> [at, width]`
    pub(super) fn apply_at(&self, x: &[f32], at: &[usize]) -> Vec<f32> {
        let width = self.proj.outputs();
        let projected = product(&self.qkv, &self.norm1.apply(x), None);
        let projections = Projections {
            values: &projected,
            width,
        };
        let attended = self.heads.attend(projections, at);
        let rows = at.iter().flat_map(|token| &x[token * width..][..width]);
        let rows: Vec<f32> = rows.copied().collect();
        let x = product(&self.proj, &attended, Some(&rows));
        let mut hidden = product(&self.fc1, &self.norm2.apply(&x), None);
        self.gelu.apply(&mut hidden);
        product(&self.fc2, &hidden, Some(&x))
    }
}
