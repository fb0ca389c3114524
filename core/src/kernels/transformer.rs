//! Pre-norm transformer blocks on the kernels.

use espalier_kernels::Activation::None as Linear;
use espalier_kernels::{Gelu, Heads, PackedWeights, Projections, RowNorm};

use super::weights::{KernelWeights, LinearName};
use crate::error::Result;
use crate::nn::Activation;

/// A transformer block with packed weights; computes `x += attn(norm1(x)); x += mlp(norm2(x))` for
/// images or texts.
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

/// Computes blocks one after the other; returns one token of each sequence.
///
/// # Shapes
/// `x [tokens, width]`, the sequences one after the other, with one length for each
/// `-> [sequences, width]`
pub(super) fn at_token(
    blocks: &[PackedBlock],
    x: Vec<f32>,
    lengths: &[usize],
    token: Tokens,
) -> Vec<f32> {
    match blocks.split_last() {
        Some((last, others)) => last.apply(&all_tokens(others, x, lengths), lengths, token),
        None => {
            let width = x.len() / lengths.iter().sum::<usize>().max(1);
            rows_at(&x, width, lengths, token)
        }
    }
}

/// Computes blocks one after the other; returns all tokens.
pub(super) fn all_tokens(blocks: &[PackedBlock], x: Vec<f32>, lengths: &[usize]) -> Vec<f32> {
    let blocks = blocks.iter();
    blocks.fold(x, |x, block| block.apply(&x, lengths, Tokens::All))
}

/// Returns some rows of each sequence.
fn rows_at(x: &[f32], width: usize, lengths: &[usize], at: Tokens) -> Vec<f32> {
    let mut rows = Vec::with_capacity(x.len());
    let mut start = 0;
    for length in lengths {
        for token in at.of(*length) {
            rows.extend_from_slice(&x[(start + token) * width..][..width]);
        }
        start += length;
    }
    rows
}

/// Returns `input W + bias`, plus `skip` if given.
pub(super) fn product(weights: &PackedWeights, input: &[f32], skip: Option<&[f32]>) -> Vec<f32> {
    let rows = input.len() / weights.inputs().max(1);
    let mut output = vec![0.0; rows * weights.outputs()];
    weights.apply(input, skip, Linear, &mut output);
    output
}

/// Returns the rows of `input W`.
pub(super) fn projected(weights: &PackedWeights, input: &[f32]) -> Vec<Vec<f32>> {
    let output = product(weights, input, None);
    let rows = output.chunks(weights.outputs().max(1));
    rows.map(<[f32]>::to_vec).collect()
}

/// Tokens of a sequence that a block is computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    All,
    First,
    Last,
}

impl Tokens {
    /// Returns the positions in a sequence of a length.
    fn of(self, length: usize) -> Vec<usize> {
        match self {
            Self::All => (0..length).collect(),
            Self::First => (0..length.min(1)).collect(),
            Self::Last => (length.saturating_sub(1)..length).collect(),
        }
    }
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
            gelu: Gelu::from(sizes.activation),
            fc2: weights.linear(&linear("mlp.fc2"), hidden, width)?,
        })
    }

    /// Computes the block for some tokens of each sequence; the others are only attended to.
    ///
    /// Sequences are computed together, so that the weights pass the memory once for all of them.
    ///
    /// # Shapes
    /// `x [tokens, width]`, the sequences one after the other, with one length for each
    /// `-> [tokens, width]`, or `[sequences, width]` for one token of each
    pub(super) fn apply(&self, x: &[f32], lengths: &[usize], at: Tokens) -> Vec<f32> {
        let width = self.proj.outputs();
        let projected = product(&self.qkv, &self.norm1.apply(x), None);
        let mut attended = Vec::with_capacity(x.len());
        let mut start = 0;
        for length in lengths {
            let projections = Projections {
                values: &projected[start * 3 * width..(start + length) * 3 * width],
                width,
            };
            attended.extend(self.heads.attend(projections, &at.of(*length)));
            start += length;
        }
        let rows = rows_at(x, width, lengths, at);
        let x = product(&self.proj, &attended, Some(&rows));
        let mut hidden = product(&self.fc1, &self.norm2.apply(&x), None);
        self.gelu.apply(&mut hidden);
        product(&self.fc2, &hidden, Some(&x))
    }
}
