//! A transformer block, the same for images and texts.

use burn::config::Config;
use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Int, Tensor};

use super::attention::token_at;
use super::layer_config::LAYER_NORM_EPS;
use super::{Attention, AttentionConfig, Mlp, MlpConfig};
use crate::ops::layer_norm;

/// Configuration of [`Block`].
#[derive(Config, Debug)]
pub struct BlockConfig {
    /// Self-attention.
    pub attn: AttentionConfig,
    /// Feed-forward layers.
    pub mlp: MlpConfig,
    /// `eps` of both norms.
    #[config(default = "LAYER_NORM_EPS")]
    pub norm_eps: f64,
    /// Whether each norm is after its sum, as in BERT.
    #[config(default = false)]
    pub post_norm: bool,
}

/// `x += attn(norm1(x)); x += mlp(norm2(x))`, or with norms after the sums `x = norm1(x + attn(x));
/// x = norm2(x + mlp(x))`.
#[derive(Module, Debug)]
pub struct Block {
    /// Layer norm before the attention, or after it.
    pub norm1: LayerNorm,
    /// Self-attention.
    pub attn: Attention,
    /// Layer norm before the feed-forward layers, or after them.
    pub norm2: LayerNorm,
    /// Feed-forward.
    pub mlp: Mlp,
    /// `eps` of both norms, which do not give it back.
    #[module(skip)]
    norm_eps: f64,
    #[module(skip)]
    post_norm: bool,
}

impl BlockConfig {
    /// Builds the block on a device.
    pub fn init(&self, device: &Device) -> Block {
        let norm = LayerNormConfig::new(self.attn.d_model).with_epsilon(self.norm_eps);
        Block {
            norm1: norm.init(device),
            attn: self.attn.init(device),
            norm2: norm.init(device),
            mlp: self.mlp.init(device),
            norm_eps: self.norm_eps,
            post_norm: self.post_norm,
        }
    }
}

impl Block {
    /// # Shapes
    /// `[batch, tokens, d_model] -> [batch, tokens, d_model]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        if self.post_norm {
            let x = x.clone() + self.attn.forward(x);
            return self.with_mlp(layer_norm(&self.norm1, self.norm_eps, x));
        }
        let normed = layer_norm(&self.norm1, self.norm_eps, x.clone());
        self.with_mlp(x + self.attn.forward(normed))
    }

    /// Computes the output at one token of each row only. This is enough in the last block of an
    /// encoder that keeps one token: it needs the keys and values of all tokens, and everything
    /// else only for that token.
    ///
    /// # Shapes
    /// `x [batch, tokens, d_model]`, `at [batch]` in `0..tokens` `-> [batch, d_model]`
    pub fn forward_at(&self, x: Tensor<3>, at: Tensor<1, Int>) -> Tensor<2> {
        let token = token_at(x.clone(), at.clone()).squeeze_dim::<2>(1);
        if self.post_norm {
            let x = token + self.attn.forward_at(x, at);
            return self.with_mlp(layer_norm(&self.norm1, self.norm_eps, x));
        }
        let normed = layer_norm(&self.norm1, self.norm_eps, x);
        self.with_mlp(token + self.attn.forward_at(normed, at))
    }

    /// Computes `x + mlp(norm2(x))`, or `norm2(x + mlp(x))`.
    fn with_mlp<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        if self.post_norm {
            let x = x.clone() + self.mlp.forward(x);
            return layer_norm(&self.norm2, self.norm_eps, x);
        }
        let normed = layer_norm(&self.norm2, self.norm_eps, x.clone());
        x + self.mlp.forward(normed)
    }
}
