//! Multi-head self-attention with one fused projection for queries, keys and values.

use burn::config::Config;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::module::{attention, linear};
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Int, Tensor};

use crate::ops;

/// Configuration of [`Attention`].
#[derive(Config, Debug)]
pub struct AttentionConfig {
    /// Width of the tokens; a multiple of `n_heads`.
    pub d_model: usize,
    /// Number of heads; each is `d_model / n_heads` wide.
    pub n_heads: usize,
    /// Whether a token attends only to itself and to the tokens before it.
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
    /// Builds the layer on a device.
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
        let qkv = ops::linear(&self.qkv, x);
        let out = ops::attention(qkv, self.n_heads, self.causal);
        ops::linear(&self.proj, out)
    }

    /// Computes the output at one token of each row only; the queries of the other tokens are not
    /// computed.
    ///
    /// # Shapes
    /// `x [batch, tokens, d_model]`, `at [batch]` in `0..tokens` `-> [batch, d_model]`
    pub fn forward_at(&self, x: Tensor<3>, at: Tensor<1, Int>) -> Tensor<2> {
        let [batch, tokens, d_model] = x.dims();
        let head = d_model / self.n_heads;
        let project = |x: Tensor<3>, from: usize, parts: usize| {
            let slice = |matrix: Tensor<2>| matrix.narrow(1, from * d_model, parts * d_model);
            let bias = self.qkv.bias.as_ref();
            let bias = bias.map(|bias| slice(bias.val().unsqueeze()).squeeze_dim(0));
            linear(x, slice(self.qkv.weight.val()), bias)
        };
        let heads = |part: Tensor<3>| {
            let [_, tokens, _] = part.dims();
            part.reshape([batch, tokens, self.n_heads, head])
                .swap_dims(1, 2)
        };
        let query = heads(project(token_at(x.clone(), at.clone()), 0, 1));
        let projected = project(x, 1, 2);
        let (keys, values) = (
            heads(projected.clone().narrow(2, 0, d_model)),
            heads(projected.narrow(2, d_model, d_model)),
        );
        let hidden = self.causal.then(|| {
            let places = Tensor::<1, Int>::arange(0..tokens as i64, &keys.device());
            let behind = places
                .reshape([1, 1, 1, tokens])
                .expand([batch, self.n_heads, 1, tokens]);
            behind.greater(
                at.reshape([batch, 1, 1, 1])
                    .expand([batch, self.n_heads, 1, tokens]),
            )
        });
        let options = AttentionModuleOptions::default();
        let out = attention(query, keys, values, hidden, None, options);
        self.proj.forward(out.reshape([batch, d_model]))
    }
}

/// Selects one token of each row.
///
/// # Shapes
/// `x [batch, tokens, d]`, `at [batch]` in `0..tokens` `-> [batch, 1, d]`
pub(crate) fn token_at(x: Tensor<3>, at: Tensor<1, Int>) -> Tensor<3> {
    let [batch, _, d] = x.dims();
    x.gather(1, at.reshape([batch, 1, 1]).expand([batch, 1, d]))
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Distribution, TensorData, Tolerance};

    use super::*;

    #[test]
    fn forward_at_agrees_with_forward() {
        let device = Device::default();
        for causal in [true, false] {
            let layer = AttentionConfig::new(8, 2).with_causal(causal).init(&device);
            let x = Tensor::<3>::random([3, 5, 8], Distribution::Default, &device);
            let at = Tensor::<1, Int>::from_data(TensorData::from([0, 4, 2]), &device);
            let all = token_at(layer.forward(x.clone()), at.clone()).squeeze_dim::<2>(1);
            let one = layer.forward_at(x, at);
            one.into_data()
                .assert_approx_eq::<f32>(&all.into_data(), Tolerance::absolute(1e-6));
        }
    }
}
