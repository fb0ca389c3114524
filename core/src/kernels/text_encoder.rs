//! A text encoder on the kernels.

use super::activation::Activation;
use super::layer_norm::RowNorm;
use super::product::PackedWeights;
use super::transformer::PackedBlock;
use super::weights::{packed, row_norm, values};
use crate::error::Result;
use crate::input::TokenBatch;
use crate::model::{TextEncoder, end_position};

/// A text encoder with packed weights. It computes what [`TextEncoder::forward`] does, up to
/// rounding.
#[derive(Clone, Debug)]
pub struct TextKernels {
    /// `[vocabulary, width]`
    tokens: Vec<f32>,
    /// `[context, width]`
    positions: Vec<f32>,
    blocks: Vec<PackedBlock>,
    norm: RowNorm,
    projection: PackedWeights,
}

impl TextKernels {
    /// Packs the weights of an encoder.
    ///
    /// # Errors
    /// [`crate::CoreError::Device`] when the weights cannot be read.
    pub fn new(encoder: &TextEncoder) -> Result<Self> {
        let backbone = &encoder.textual;
        let blocks = backbone.resblocks.iter().map(PackedBlock::new);
        Ok(Self {
            tokens: values(backbone.token_embed.weight.val())?,
            positions: values(backbone.posit_embed.val())?,
            blocks: blocks.collect::<Result<_>>()?,
            norm: row_norm(&backbone.ln_final, backbone.norm_eps())?,
            projection: packed(&encoder.textual_proj)?,
        })
    }

    /// Computes projected features of texts.
    ///
    /// # Shapes
    /// `[rows]` texts of at most `context` tokens `-> [rows, d_embed]`
    ///
    /// # Panics
    /// If a token is not in the vocabulary, or a text is longer than `context`.
    #[must_use]
    pub fn forward(&self, batch: &TokenBatch) -> Vec<f32> {
        let texts = batch.ids.chunks_exact(batch.len.max(1));
        texts.flat_map(|ids| self.feature(ids)).collect()
    }

    fn feature(&self, ids: &[u32]) -> Vec<f32> {
        let width = self.projection.inputs();
        let end = end_position(ids);
        // Attention is causal, so tokens after the end take no part in the feature.
        let ids = &ids[..=end];
        let mut x = Vec::with_capacity(ids.len() * width);
        for (id, position) in ids.iter().zip(self.positions.chunks_exact(width)) {
            let token = &self.tokens[*id as usize * width..][..width];
            x.extend(token.iter().zip(position).map(|(token, p)| token + p));
        }
        assert_eq!(
            x.len(),
            ids.len() * width,
            "a text is longer than the context"
        );
        let pooled = match self.blocks.split_last() {
            Some((last, others)) => {
                let x = others.iter().fold(x, |x, block| block.apply(&x));
                last.apply_at(&x, &[end])
            }
            None => x[end * width..].to_vec(),
        };
        let pooled = self.norm.apply(&pooled);
        let mut feature = vec![0.0; self.projection.outputs()];
        self.projection
            .apply(&pooled, None, Activation::None, &mut feature);
        feature
    }
}
