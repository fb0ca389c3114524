//! A text encoder on the kernels.

use espalier_kernels::{Heads, PackedWeights, ROW_BLOCK, RowNorm, map};

use super::transformer::{BlockSizes, PackedBlock, Tokens, at_token, projected};
use super::weights::{KernelWeights, LinearName};
use crate::error::Result;
use crate::input::{TokenBatch, end_position};
use crate::model::{Arithmetic, DualConfig, TextFamily};
use crate::nn::layer_config::LAYER_NORM_EPS;
use crate::weights::names::text_block_name;
use crate::weights::{StoredTensor, StoredTensors};

/// A text encoder with packed weights. It computes what the text encoder of the same
/// configuration does, up to rounding.
#[derive(Clone, Debug)]
pub struct TextKernels {
    /// `[vocabulary, width]`
    tokens: StoredTensor,
    /// `[context, width]`
    positions: Vec<f32>,
    blocks: Vec<PackedBlock>,
    norm: RowNorm,
    projection: PackedWeights,
}

impl TextKernels {
    /// Packs the weights of the text encoder.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`](crate::CoreError::TensorNames) naming a missing tensor or those that are unknown,
    /// [`CoreError::TensorShape`](crate::CoreError::TensorShape) for one of another shape,
    /// [`CoreError::Config`](crate::CoreError::Config) for an encoder of BERT's family.
    pub fn new(config: &DualConfig, stored: StoredTensors) -> Result<Self> {
        let text = &config.text;
        if text.family != TextFamily::Clip {
            return Err(text.needs_burn());
        }
        let weights = &mut KernelWeights::new(stored, Arithmetic::default());
        let width = text.d_model;
        let norm_eps = text.norm_eps.unwrap_or(LAYER_NORM_EPS);
        let sizes = BlockSizes {
            width,
            hidden: text.hidden(),
            heads: Heads {
                count: text.n_heads,
                causal: true,
            },
            activation: text.activation,
            norm_eps,
        };
        let blocks = (0..text.n_layers).map(|index| {
            let name = |part: &str| text_block_name(&format!("textual.resblocks.{index}.{part}"));
            PackedBlock::new(sizes, weights, name)
        });
        let blocks = blocks.collect::<Result<_>>()?;
        let projection = LinearName {
            weight: "textual_proj.weight".into(),
            bias: None,
        };
        let kernels = Self {
            blocks,
            tokens: weights.take("textual.token_embed.weight", &[text.vocab_size, width])?,
            positions: weights.floats("textual.posit_embed", &[text.context, width])?,
            norm: weights.row_norm("textual.ln_final", width, norm_eps)?,
            projection: weights.linear(&projection, width, config.d_embed)?,
        };
        weights.finish()?;
        Ok(kernels)
    }

    /// Computes projected features of texts.
    ///
    /// # Shapes
    /// `[rows]` texts of at most `context` tokens `-> [rows, d_embed]`
    ///
    /// # Panics
    /// If a token is not in the vocabulary, or a text is longer than `context`.
    #[must_use]
    pub fn forward(&self, batch: &TokenBatch) -> Vec<Vec<f32>> {
        // Attention is causal, so tokens after the end take no part in the feature.
        let texts = batch.ids.chunks_exact(batch.len.max(1));
        let texts: Vec<&[u32]> = texts.map(|ids| &ids[..=end_position(ids)]).collect();
        let mut stacks = Vec::new();
        let mut rest = &texts[..];
        while !rest.is_empty() {
            let (stack, others) = rest.split_at(fitting(rest));
            stacks.push(stack);
            rest = others;
        }
        map(&stacks, |texts| self.features(texts)).concat()
    }

    /// Computes the features of texts that end with their last token, all at once.
    fn features(&self, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let width = self.projection.inputs();
        let lengths: Vec<usize> = texts.iter().map(|ids| ids.len()).collect();
        let mut x = Vec::with_capacity(lengths.iter().sum::<usize>() * width);
        for ids in texts {
            assert!(
                ids.len() * width <= self.positions.len(),
                "a text is longer than the context"
            );
            for (id, position) in ids.iter().zip(self.positions.chunks_exact(width)) {
                let token = self.tokens.row(*id as usize);
                x.extend(token.iter().zip(position).map(|(token, p)| token + p));
            }
        }
        let pooled = at_token(&self.blocks, x, &lengths, Tokens::Last);
        let pooled = self.norm.apply(&pooled);
        projected(&self.projection, &pooled)
    }
}

/// Returns the number of texts, at least one, whose tokens are computed together.
fn fitting(texts: &[&[u32]]) -> usize {
    let mut tokens = 0;
    let fits = texts.iter().take_while(|ids| {
        tokens += ids.len();
        tokens <= ROW_BLOCK
    });
    fits.count().max(1)
}
