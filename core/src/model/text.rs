//! The text encoder: a causal transformer whose feature is read at the end token, or one of BERT's
//! family whose feature is the mean of its tokens.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Embedding, LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::{TextConfig, TextFamily};
use crate::input::tokenize::unpadded;
use crate::input::{TokenBatch, end_position};
use crate::nn::attention::token_at;
use crate::nn::layer_config::LAYER_NORM_EPS;
use crate::nn::{AttentionConfig, Block, BlockConfig, MlpConfig};
use crate::ops::layer_norm;

/// Token ids of a batch of texts on a device, with the position of each end token.
#[derive(Clone, Debug)]
pub struct Tokens {
    ids: Tensor<2, Int>,
    ends: Tensor<1, Int>,
    /// Number of tokens of each text, without the padding.
    lengths: Vec<usize>,
}

impl Tokens {
    /// Returns the tokens without autodiff.
    #[must_use]
    pub fn inner(self) -> Self {
        Self {
            ids: self.ids.inner(),
            ends: self.ends.inner(),
            lengths: self.lengths,
        }
    }

    /// Moves a batch of token rows to a device.
    #[must_use]
    pub fn new(batch: &TokenBatch, device: &Device) -> Self {
        let rows = || batch.ids.chunks(batch.len.max(1));
        let ends: Vec<i32> = rows().map(|row| end_position(row) as i32).collect();
        let ids: Vec<i32> = batch.ids.iter().map(|id| *id as i32).collect();
        Self {
            ids: Tensor::from_data(TensorData::new(ids, [batch.rows, batch.len]), device),
            ends: Tensor::from_data(TensorData::new(ends, [batch.rows]), device),
            lengths: rows().map(|row| unpadded(row).len()).collect(),
        }
    }

    /// Returns `count` texts, starting at row `from`.
    #[must_use]
    pub fn narrow(&self, from: usize, count: usize) -> Self {
        Self {
            ids: self.ids.clone().narrow(0, from, count),
            ends: self.ends.clone().narrow(0, from, count),
            lengths: self.lengths[from..from + count].to_vec(),
        }
    }

    /// Returns the ids of each text, without the padding.
    #[must_use]
    pub fn texts(&self) -> Vec<Vec<u32>> {
        let ids = self.ids.clone().into_data();
        let ids: Vec<u32> = ids.iter::<i32>().map(|id| id as u32).collect();
        let rows = ids.chunks(self.ids.dims()[1].max(1));
        let texts = rows.zip(&self.lengths);
        texts.map(|(row, length)| row[..*length].to_vec()).collect()
    }

    /// Returns the number of texts.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.ids.dims()[0]
    }
}

/// Text transformer with learned positions.
#[derive(Module, Debug)]
pub struct TextBackbone {
    /// Token embeddings, `[vocab_size, d_model]`.
    pub token_embed: Embedding,
    /// Learned positions, `[context, d_model]`.
    pub posit_embed: Param<Tensor<2>>,
    /// Layer norm of the embeddings (BERT only).
    pub ln_embed: Option<LayerNorm>,
    /// Transformer blocks.
    pub resblocks: Vec<Block>,
    /// Layer norm after the blocks (CLIP only).
    pub ln_final: Option<LayerNorm>,
    /// `eps` of all norms.
    #[module(skip)]
    norm_eps: f64,
}

impl TextConfig {
    /// Builds the encoder on a device, initialised as in notation 3.2.
    pub fn init(&self, device: &Device) -> TextBackbone {
        let d = self.d_model;
        let width = d as f64;
        let residual = (2.0 * width * self.n_layers as f64).powf(-0.5);
        let eps = self.norm_eps.unwrap_or(LAYER_NORM_EPS);
        let is_clip = self.family == TextFamily::Clip;
        let norm = LayerNormConfig::new(d).with_epsilon(eps);
        let block = BlockConfig::new(
            AttentionConfig::new(d, self.n_heads)
                .with_causal(is_clip)
                .with_std_in(width.powf(-0.5))
                .with_std_out(residual),
            MlpConfig::new(d, self.hidden())
                .with_activation(self.activation)
                .with_std_in((2.0 * width).powf(-0.5))
                .with_std_out(residual),
        )
        .with_norm_eps(eps)
        .with_post_norm(!is_clip);
        let normal = |std| Initializer::Normal { mean: 0.0, std };
        TextBackbone {
            token_embed: Embedding {
                weight: normal(0.02).init([self.vocab_size, d], device),
            },
            posit_embed: normal(0.01).init([self.context, d], device),
            ln_embed: (!is_clip).then(|| norm.init(device)),
            resblocks: (0..self.n_layers).map(|_| block.init(device)).collect(),
            ln_final: is_clip.then(|| norm.init(device)),
            norm_eps: eps,
        }
    }
}

impl TextBackbone {
    /// Computes the features of texts, before the projection.
    ///
    /// # Shapes
    /// `[batch]` texts of at most `context` tokens `-> [batch, d_model]`
    pub fn forward(&self, tokens: &Tokens) -> Tensor<2> {
        match &self.ln_final {
            Some(norm) => norm.forward(self.at_end(tokens)),
            None => unit_rms(self.mean(tokens)),
        }
    }

    fn embedded(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let [_, len] = ids.dims();
        let positions = self.posit_embed.val().narrow(0, 0, len).unsqueeze();
        self.token_embed.forward(ids) + positions
    }

    /// Computes the output of the last block at the end token.
    fn at_end(&self, tokens: &Tokens) -> Tensor<2> {
        let mut x = self.embedded(tokens.ids.clone());
        let ends = tokens.ends.clone();
        match self.resblocks.split_last() {
            Some((last, others)) => {
                for block in others {
                    x = block.forward(x);
                }
                last.forward_at(x, ends)
            }
            None => token_at(x, ends).squeeze_dim(1),
        }
    }

    /// Computes the mean over the tokens. Texts of one length are encoded together, so that no token
    /// attends to padding.
    fn mean(&self, tokens: &Tokens) -> Tensor<2> {
        let device = tokens.ids.device();
        let mut order: Vec<usize> = (0..tokens.rows()).collect();
        order.sort_by_key(|row| tokens.lengths[*row]);
        let mut means = Vec::new();
        for rows in order.chunk_by(|a, b| tokens.lengths[*a] == tokens.lengths[*b]) {
            let ids = tokens.ids.clone().select(0, indices(rows, &device));
            let mut x = self.embedded(ids.narrow(1, 0, tokens.lengths[rows[0]]));
            if let Some(norm) = &self.ln_embed {
                x = layer_norm(norm, self.norm_eps, x);
            }
            for block in &self.resblocks {
                x = block.forward(x);
            }
            means.push(x.mean_dim(1).squeeze_dim(1));
        }
        let mut place = vec![0; order.len()];
        for (at, row) in order.iter().enumerate() {
            place[*row] = at;
        }
        Tensor::cat(means, 0).select(0, indices(&place, &device))
    }
}

fn indices(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i32> = rows.iter().map(|row| *row as i32).collect();
    let count = rows.len();
    Tensor::from_data(TensorData::new(rows, [count]), device)
}

/// Scales rows to a root mean square of 1.
fn unit_rms(x: Tensor<2>) -> Tensor<2> {
    let mean_square = x.clone().square().mean_dim(1);
    x / (mean_square + 1e-12).sqrt()
}

#[cfg(test)]
mod tests {
    use burn::tensor::Tolerance;

    use super::*;

    #[test]
    fn the_mean_of_a_text_does_not_depend_on_the_texts_beside_it() {
        let device = Device::default();
        let mut config = TextConfig::new(600, 16, 8, 2, 2);
        config.family = TextFamily::Bert;
        let encoder = config.init(&device);
        let tokens = |ids: Vec<u32>, rows: usize| {
            let len = ids.len() / rows;
            Tokens::new(&TokenBatch { ids, rows, len }, &device)
        };
        let all = tokens(vec![5, 9, 7, 0, 0, 5, 3, 9, 8, 7, 5, 8, 7, 0, 0], 3);
        assert_eq!(all.texts()[2], [5, 8, 7]);
        let together = encoder.forward(&all);
        for (row, ids) in all.texts().into_iter().enumerate() {
            let alone = encoder.forward(&tokens(ids, 1)).into_data();
            let row = together.clone().narrow(0, row, 1).into_data();
            alone.assert_approx_eq::<f32>(&row, Tolerance::absolute(1e-5));
        }
    }
}
