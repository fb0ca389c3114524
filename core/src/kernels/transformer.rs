//! Pre-norm transformer blocks on the kernels.

use super::activation::Activation;
use super::attention::{Heads, Projections};
use super::gelu::Gelu;
use super::layer_norm::RowNorm;
use super::product::PackedWeights;
use super::weights::{packed, row_norm};
use crate::error::Result;
use crate::nn::{self, Block};

/// A transformer block with packed weights; computes what [`Block::forward`] does, for one image or
/// text.
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
    weights.apply(input, skip, Activation::None, &mut output);
    output
}

impl PackedBlock {
    /// Packs the weights of a block.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the weights cannot be read.
    pub(super) fn new(block: &Block) -> Result<Self> {
        Ok(Self {
            norm1: row_norm(&block.norm1, block.norm_eps())?,
            qkv: packed(&block.attn.qkv)?,
            heads: Heads {
                count: block.attn.heads(),
                causal: block.attn.is_causal(),
            },
            proj: packed(&block.attn.proj)?,
            norm2: row_norm(&block.norm2, block.norm_eps())?,
            fc1: packed(&block.mlp.fc1)?,
            gelu: match block.mlp.activation() {
                nn::Activation::Gelu => Gelu::Exact,
                nn::Activation::QuickGelu => Gelu::Quick,
            },
            fc2: packed(&block.mlp.fc2)?,
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
