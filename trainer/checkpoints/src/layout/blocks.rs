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
    /// Returns the names of the six layers, in the order of [`sizes`], each up to `weight` or `bias`. A layer that is
    /// one of ours may be several in a file.
    fn layers(self) -> [&'static [&'static str]; 6] {
        match self {
            Self::Timm => [
                &["norm1."],
                &["attn.qkv."],
                &["attn.proj."],
                &["norm2."],
                &["mlp.fc1."],
                &["mlp.fc2."],
            ],
            Self::Clip => [
                &["ln_1."],
                &["attn.in_proj_"],
                &["attn.out_proj."],
                &["ln_2."],
                &["mlp.c_fc."],
                &["mlp.c_proj."],
            ],
            Self::HuggingFace => [
                &["layer_norm1."],
                &[
                    "self_attn.q_proj.",
                    "self_attn.k_proj.",
                    "self_attn.v_proj.",
                ],
                &["self_attn.out_proj."],
                &["layer_norm2."],
                &["mlp.fc1."],
                &["mlp.fc2."],
            ],
            Self::Bert => [
                &["attention.output.LayerNorm."],
                &[
                    "attention.self.query.",
                    "attention.self.key.",
                    "attention.self.value.",
                ],
                &["attention.output.dense."],
                &["output.LayerNorm."],
                &["intermediate.dense."],
                &["output.dense."],
            ],
        }
    }
}

/// Returns the rows and columns of the weights of a block of width `d` with feed-forward width `h`; those of norms have
/// no columns. A bias has one number for each row.
fn sizes(d: usize, h: usize) -> [(usize, Option<usize>); 6] {
    [
        (d, None),
        (3 * d, Some(d)),
        (d, Some(d)),
        (d, None),
        (h, Some(d)),
        (d, Some(h)),
    ]
}

/// Name prefix and naming scheme of a stack of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockStack {
    pub(super) prefix: &'static str,
    pub(super) style: Style,
}

/// Index in [`Style::layers`] of the first matrix of the feed-forward layer.
const FEED_FORWARD: usize = 4;

impl BlockStack {
    /// Returns the part of a name before the number of a block.
    pub(super) fn layer_prefix(self) -> String {
        format!("{}.", self.prefix)
    }

    /// Returns the name of the matrix of the first block whose number of rows is the feed-forward
    /// width.
    pub(super) fn feed_forward_weight(self) -> String {
        let layer = self.style.layers()[FEED_FORWARD][0];
        format!("{}.0.{layer}weight", self.prefix)
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
    [layers, d, h]: [usize; 3],
) -> Vec<TensorMapping> {
    let mut out = Vec::with_capacity(12 * layers);
    for layer in 0..layers {
        let names = ours.style.layers().into_iter().zip(theirs.style.layers());
        for ((our, their), (rows, columns)) in names.zip(sizes(d, h)) {
            for (part, columns) in [("weight", columns), ("bias", None)] {
                let shape: Vec<usize> = [rows].into_iter().chain(columns).collect();
                let mut their_shape = shape.clone();
                their_shape[0] /= their.len();
                out.push(TensorMapping {
                    ours: format!("{}.{layer}.{}{part}", ours.prefix, our[0]),
                    shape,
                    theirs: their
                        .iter()
                        .map(|name| format!("{}.{layer}.{name}{part}", theirs.prefix))
                        .collect(),
                    their_shape,
                    how: Transform::Stacked,
                });
            }
        }
    }
    out
}
