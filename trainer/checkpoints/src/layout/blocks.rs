//! The twelve tensors of a transformer block and their names in each layout.

use super::tensor_mapping::{TensorMapping, Transform};

/// Naming scheme of the tensors inside a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// timm: `norm1`, `attn.qkv`, `mlp.fc1`. Our image encoder uses it.
    Timm,
    /// OpenAI's CLIP: `ln_1`, `attn.in_proj_weight`, `mlp.c_fc`. Our text encoder uses it.
    Clip,
    /// `transformers`: separate queries, keys and values.
    HuggingFace,
    /// BERT, whose norms come after the sums.
    Bert,
}

impl Style {
    /// Returns the names in the order of [`shapes`].
    fn names(self) -> [&'static [&'static str]; 12] {
        match self {
            Self::Timm => [
                &["norm1.weight"],
                &["norm1.bias"],
                &["attn.qkv.weight"],
                &["attn.qkv.bias"],
                &["attn.proj.weight"],
                &["attn.proj.bias"],
                &["norm2.weight"],
                &["norm2.bias"],
                &["mlp.fc1.weight"],
                &["mlp.fc1.bias"],
                &["mlp.fc2.weight"],
                &["mlp.fc2.bias"],
            ],
            Self::Clip => [
                &["ln_1.weight"],
                &["ln_1.bias"],
                &["attn.in_proj_weight"],
                &["attn.in_proj_bias"],
                &["attn.out_proj.weight"],
                &["attn.out_proj.bias"],
                &["ln_2.weight"],
                &["ln_2.bias"],
                &["mlp.c_fc.weight"],
                &["mlp.c_fc.bias"],
                &["mlp.c_proj.weight"],
                &["mlp.c_proj.bias"],
            ],
            Self::HuggingFace => [
                &["layer_norm1.weight"],
                &["layer_norm1.bias"],
                &[
                    "self_attn.q_proj.weight",
                    "self_attn.k_proj.weight",
                    "self_attn.v_proj.weight",
                ],
                &[
                    "self_attn.q_proj.bias",
                    "self_attn.k_proj.bias",
                    "self_attn.v_proj.bias",
                ],
                &["self_attn.out_proj.weight"],
                &["self_attn.out_proj.bias"],
                &["layer_norm2.weight"],
                &["layer_norm2.bias"],
                &["mlp.fc1.weight"],
                &["mlp.fc1.bias"],
                &["mlp.fc2.weight"],
                &["mlp.fc2.bias"],
            ],
            Self::Bert => [
                &["attention.output.LayerNorm.weight"],
                &["attention.output.LayerNorm.bias"],
                &[
                    "attention.self.query.weight",
                    "attention.self.key.weight",
                    "attention.self.value.weight",
                ],
                &[
                    "attention.self.query.bias",
                    "attention.self.key.bias",
                    "attention.self.value.bias",
                ],
                &["attention.output.dense.weight"],
                &["attention.output.dense.bias"],
                &["output.LayerNorm.weight"],
                &["output.LayerNorm.bias"],
                &["intermediate.dense.weight"],
                &["intermediate.dense.bias"],
                &["output.dense.weight"],
                &["output.dense.bias"],
            ],
        }
    }
}

/// Returns the tensor shapes of a block of width `d` with feed-forward width `h`.
fn shapes(d: usize, h: usize) -> [Vec<usize>; 12] {
    [
        vec![d],
        vec![d],
        vec![3 * d, d],
        vec![3 * d],
        vec![d, d],
        vec![d],
        vec![d],
        vec![d],
        vec![h, d],
        vec![h],
        vec![d, h],
        vec![d],
    ]
}

/// Name prefix and naming scheme of a stack of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockStack {
    pub(super) prefix: &'static str,
    pub(super) style: Style,
}

/// Index in [`Style::names`] of the first matrix of the feed-forward layer.
const FEED_FORWARD: usize = 8;

impl BlockStack {
    /// Returns the part of a name before the number of a block.
    pub(super) fn layer_prefix(self) -> String {
        format!("{}.", self.prefix)
    }

    /// Returns the name of the matrix of the first block whose number of rows is the feed-forward
    /// width.
    pub(super) fn feed_forward_weight(self) -> String {
        format!("{}.0.{}", self.prefix, self.style.names()[FEED_FORWARD][0])
    }
}

/// Blocks of our image encoder.
pub(super) const VISUAL: BlockStack = BlockStack {
    prefix: "visual.blocks",
    style: Style::Timm,
};

/// Blocks of our text encoder.
pub(super) const TEXTUAL: BlockStack = BlockStack {
    prefix: "textual.resblocks",
    style: Style::Clip,
};

/// Returns the mappings of `layers` blocks of width `d` with feed-forward width `h`.
pub(super) fn mappings(
    ours: BlockStack,
    theirs: BlockStack,
    layers: usize,
    d: usize,
    h: usize,
) -> Vec<TensorMapping> {
    let mut out = Vec::with_capacity(12 * layers);
    for layer in 0..layers {
        let (our_names, their_names) = (ours.style.names(), theirs.style.names());
        for ((our, their), shape) in our_names.iter().zip(their_names).zip(shapes(d, h)) {
            let mut their_shape = shape.clone();
            their_shape[0] /= their.len();
            out.push(TensorMapping {
                ours: format!("{}.{layer}.{}", ours.prefix, our[0]),
                shape,
                theirs: their
                    .iter()
                    .map(|name| format!("{}.{layer}.{name}", theirs.prefix))
                    .collect(),
                their_shape,
                how: Transform::Stacked,
            });
        }
    }
    out
}
