//! The text encoder: a causal transformer whose feature is read at the end token.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Embedding, LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::TextConfig;
use crate::input::{TokenBatch, end_position};
use crate::nn::attention::token_at;
use crate::nn::layer_config::LAYER_NORM_EPS;
use crate::nn::{AttentionConfig, Block, BlockConfig, MlpConfig};

/// Token ids of a batch of texts on a device, with the position of each end token.
#[derive(Clone, Debug)]
pub struct Tokens {
    ids: Tensor<2, Int>,
    ends: Tensor<1, Int>,
}

impl Tokens {
    /// Returns the tokens without autodiff.
    #[must_use]
    pub fn inner(self) -> Self {
        Self {
            ids: self.ids.inner(),
            ends: self.ends.inner(),
        }
    }

    /// Moves a batch of token rows to a device.
    #[must_use]
    pub fn new(batch: &TokenBatch, device: &Device) -> Self {
        let ends: Vec<i32> = batch
            .ids
            .chunks(batch.len.max(1))
            .map(|row| end_position(row) as i32)
            .collect();
        let ids: Vec<i32> = batch.ids.iter().map(|id| *id as i32).collect();
        Self {
            ids: Tensor::from_data(TensorData::new(ids, [batch.rows, batch.len]), device),
            ends: Tensor::from_data(TensorData::new(ends, [batch.rows]), device),
        }
    }

    /// Returns `count` texts, starting at row `from`.
    #[must_use]
    pub fn narrow(&self, from: usize, count: usize) -> Self {
        Self {
            ids: self.ids.clone().narrow(0, from, count),
            ends: self.ends.clone().narrow(0, from, count),
        }
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ids.dims()[0]
    }
}

/// Causal text transformer with learned positions.
#[derive(Module, Debug)]
pub struct TextBackbone {
    /// Token embeddings, `[vocab_size, d_model]`.
    pub token_embed: Embedding,
    /// Learned positions, `[context, d_model]`.
    pub posit_embed: Param<Tensor<2>>,
    /// Transformer blocks.
    pub resblocks: Vec<Block>,
    /// Layer norm after the blocks.
    pub ln_final: LayerNorm,
}

impl TextConfig {
    /// Builds the encoder on a device, initialised as in notation 3.2.
    pub fn init(&self, device: &Device) -> TextBackbone {
        let d = self.d_model;
        let width = d as f64;
        let residual = (2.0 * width * self.n_layers as f64).powf(-0.5);
        let eps = self.norm_eps.unwrap_or(LAYER_NORM_EPS);
        let block = BlockConfig::new(
            AttentionConfig::new(d, self.n_heads)
                .with_causal(true)
                .with_std_in(width.powf(-0.5))
                .with_std_out(residual),
            MlpConfig::new(d, self.hidden())
                .with_activation(self.activation)
                .with_std_in((2.0 * width).powf(-0.5))
                .with_std_out(residual),
        )
        .with_norm_eps(eps);
        let normal = |std| Initializer::Normal { mean: 0.0, std };
        TextBackbone {
            token_embed: Embedding {
                weight: normal(0.02).init([self.vocab_size, d], device),
            },
            posit_embed: normal(0.01).init([self.context, d], device),
            resblocks: (0..self.n_layers).map(|_| block.init(device)).collect(),
            ln_final: LayerNormConfig::new(d).with_epsilon(eps).init(device),
        }
    }
}

impl TextBackbone {
    /// Computes the feature at the end token.
    ///
    /// # Shapes
    /// `[batch]` texts of at most `context` tokens `-> [batch, d_model]`
    pub fn forward(&self, tokens: &Tokens) -> Tensor<2> {
        let [_, len] = tokens.ids.dims();
        let x = self.token_embed.forward(tokens.ids.clone());
        let mut x = x + self.posit_embed.val().narrow(0, 0, len).unsqueeze();
        let ends = tokens.ends.clone();
        let pooled = match self.resblocks.split_last() {
            Some((last, others)) => {
                for block in others {
                    x = block.forward(x);
                }
                last.forward_at(x, ends)
            }
            None => token_at(x, ends).squeeze_dim(1),
        };
        self.ln_final.forward(pooled)
    }
}
