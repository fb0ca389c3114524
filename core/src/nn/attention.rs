//! Multi-head self-attention with one fused projection for queries, keys and values.

use burn::config::Config;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Tensor};

/// Configuration of [`Attention`].
#[derive(Config, Debug)]
pub struct AttentionConfig {
    /// Width of the tokens; a multiple of `n_heads`.
    pub d_model: usize,
    /// Number of heads; each is `d_model / n_heads` wide.
    pub n_heads: usize,
    /// Whether a token sees only itself and those before it.
    #[config(default = false)]
    pub causal: bool,
    /// Standard deviation of the initial fused projection.
    #[config(default = 0.02)]
    pub std_in: f64,
    /// Standard deviation of the initial output projection.
    #[config(default = 0.02)]
    pub std_out: f64,
}

/// `softmax(q k^T / sqrt(head width)) v`, projected back to the token width.
#[derive(Module, Debug)]
pub struct Attention {
    /// Fused projection to queries, keys and values, in that order.
    pub qkv: Linear,
    /// Output projection.
    pub proj: Linear,
    n_heads: usize,
    causal: bool,
}

impl AttentionConfig {
    /// Build the layer on a device.
    pub fn init(&self, device: &Device) -> Attention {
        Attention {
            qkv: super::mlp::linear(self.d_model, 3 * self.d_model, self.std_in, device),
            proj: super::mlp::linear(self.d_model, self.d_model, self.std_out, device),
            n_heads: self.n_heads,
            causal: self.causal,
        }
    }
}

impl Attention {
    /// # Shapes
    /// `[batch, tokens, d_model] -> [batch, tokens, d_model]`
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [batch, tokens, d_model] = x.dims();
        let head = d_model / self.n_heads;
        let qkv = self.qkv.forward(x);
        let part = |i: usize| {
            qkv.clone()
                .narrow(2, i * d_model, d_model)
                .reshape([batch, tokens, self.n_heads, head])
                .swap_dims(1, 2) // [batch, heads, tokens, head]
        };
        let options = AttentionModuleOptions {
            is_causal: self.causal,
            ..Default::default()
        };
        let out = attention(part(0), part(1), part(2), None, None, options);
        self.proj
            .forward(out.swap_dims(1, 2).reshape([batch, tokens, d_model]))
    }
}
