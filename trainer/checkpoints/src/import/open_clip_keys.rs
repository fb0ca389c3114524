//! Sections of `open_clip_config.json`: neutral keys, keys that must be off, and the settings of an
//! encoder.

use espalier_core::nn::Activation;
use serde_json::{Value, json};

use super::section::Section;
use super::stated_config::{EncoderConfig, MaybeStated, stated};

/// Keys without effect on a trained model.
const NEUTRAL: [&str; 15] = [
    "patch_dropout",
    "output_tokens",
    "attn_pooler_queries",
    "attn_pooler_heads",
    "timm_model_pretrained",
    "timm_pool",
    "timm_proj",
    "timm_proj_bias",
    "timm_drop",
    "timm_drop_path",
    "tokenizer_mode",
    "hf_model_pretrained",
    "hf_proj_type",
    "hf_pooler_type",
    "eos_id",
];

/// Returns the value that switches off a part that our encoders lack; `None` for unknown keys.
fn switched_off(key: &str) -> Option<Value> {
    Some(match key {
        "attentional_pool" | "embed_cls" | "no_causal_mask" | "proj_bias" | "qk_norm"
        | "scaled_cosine_attn" | "scale_heads" | "scale_attn_inner" | "scale_attn" | "scale_fc" => {
            json!(false)
        }
        "ls_init_value" | "timm_model_name" | "hf_model_name" | "act_kwargs" | "block_type"
        | "hf_tokenizer_name" | "tokenizer_kwargs" => Value::Null,
        "proj_type" => json!("linear"),
        "pad_id" => json!(0),
        _ => return None,
    })
}

impl Section<'_> {
    /// Refuses keys that are neither `known` nor neutral, unless they switch off parts that our encoders lack.
    pub(super) fn check(&self, known: &[&str]) -> anyhow::Result<()> {
        for (key, value) in &*self.values {
            if known.contains(&key.as_str()) || NEUTRAL.contains(&key.as_str()) {
                continue;
            }
            match switched_off(key) {
                Some(off) if value.is_null() || *value == off => {}
                Some(off) => return Err(self.unexpected(key, &off.to_string())),
                None => {
                    let hint = "no such key, because its meaning is not known";
                    return Err(self.unexpected(key, hint));
                }
            }
        }
        Ok(())
    }

    pub(super) fn is(&self, key: &str) -> anyhow::Result<bool> {
        match self.value(key) {
            None => Ok(false),
            Some(Value::Bool(on)) => Ok(*on),
            Some(_) => Err(self.unexpected(key, "true or false")),
        }
    }

    /// Reads the settings that both encoders have in common. `heads` returns the number of heads for
    /// a width.
    pub(super) fn encoder(
        &self,
        default_width: usize,
        activation: MaybeStated<Activation>,
        heads: impl Fn(usize) -> anyhow::Result<MaybeStated<usize>>,
    ) -> anyhow::Result<EncoderConfig> {
        let width = self.number("width", Some(default_width))?;
        let units = width.as_ref().map_or(0, |w| w.value);
        let hidden = match self.value("mlp_ratio") {
            None => stated(4 * units, self.by_default("mlp_ratio")),
            Some(value) => {
                let ratio = value.as_f64().filter(|r| *r > 0.0 && *r < 1000.0);
                let ratio =
                    ratio.ok_or_else(|| self.unexpected("mlp_ratio", "a number above 0"))?;
                // Truncated to an integer, as in open_clip.
                stated((units as f64 * ratio) as usize, self.by("mlp_ratio"))
            }
        };
        let norm_eps = match self.value("norm_kwargs") {
            None => stated(1e-5, self.by_default("norm_kwargs")),
            Some(value) => {
                let only = value.as_object().is_some_and(|m| m.len() <= 1);
                let eps = value.get("eps").and_then(Value::as_f64);
                match (only, eps) {
                    (true, Some(eps)) => stated(eps, self.by("norm_kwargs.eps")),
                    _ => return Err(self.unexpected("norm_kwargs", "only `eps`")),
                }
            }
        };
        Ok(EncoderConfig {
            heads: heads(units)?,
            width,
            layers: self.number("layers", Some(12))?,
            hidden,
            activation,
            norm_eps,
        })
    }
}
