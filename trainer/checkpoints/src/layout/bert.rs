//! Tensor names of encoders of sentences of BERT's family: a text encoder alone.

use espalier_core::model::DualConfig;

use super::blocks::{self, BlockStack, Style, TEXTUAL};
use super::table::{TEXT_POSITIONS, TOKENS};
use super::tensor_mapping::TensorMapping;

/// The embeddings of the kinds of segments. All our texts are of the first kind, whose row is added to
/// the positions.
pub const SEGMENTS: &str = "embeddings.token_type_embeddings.weight";

const LAYERS: BlockStack = BlockStack {
    prefix: "encoder.layer",
    style: Style::Bert,
};

/// Returns every tensor of the text encoder but [`SEGMENTS`].
pub(super) fn mappings(config: &DualConfig) -> Vec<TensorMapping> {
    let text = &config.text;
    let d = text.d_model;
    let embeddings = [
        (TOKENS, "word_embeddings.weight", vec![text.vocab_size, d]),
        (
            TEXT_POSITIONS,
            "position_embeddings.weight",
            vec![text.context, d],
        ),
        ("textual.ln_embed.weight", "LayerNorm.weight", vec![d]),
        ("textual.ln_embed.bias", "LayerNorm.bias", vec![d]),
    ];
    let mut out: Vec<_> = embeddings
        .into_iter()
        .map(|(ours, theirs, shape)| {
            TensorMapping::renamed(ours, format!("embeddings.{theirs}"), shape)
        })
        .collect();
    let sizes = [text.n_layers, d, text.hidden()];
    out.extend(blocks::mappings(TEXTUAL, LAYERS, sizes));
    out
}
