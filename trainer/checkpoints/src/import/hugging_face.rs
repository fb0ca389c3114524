//! Reads `config.json` of `transformers`' CLIP.
//!
//! Such a file may omit keys that have the documented default of its `model_type`; the report
//! names each default that is used.

use espalier_core::input::TokenizerRules;
use espalier_core::nn::Activation;
use espalier_io::exit::usage;
use serde_json::{Map, Value};

use super::family;
use super::stated_config::{EncoderConfig, MaybeStated, StatedConfig, stated};

const FILE: &str = "config.json";

/// Defaults of one encoder: width, layers, heads, feed-forward width.
struct Defaults {
    width: usize,
    layers: usize,
    heads: usize,
    hidden: usize,
}

const VISION: Defaults = Defaults {
    width: 768,
    layers: 12,
    heads: 12,
    hidden: 3072,
};
const TEXT: Defaults = Defaults {
    width: 512,
    layers: 12,
    heads: 8,
    hidden: 2048,
};

/// One section of the file.
struct Section {
    name: &'static str,
    values: Map<String, Value>,
}

impl Section {
    /// Reads the section `name`; the values of `name_dict`, an older form, override it.
    fn of(config: &Value, name: &'static str) -> Self {
        let older = format!("{name}_dict");
        let mut values = Map::new();
        for key in [name, older.as_str()] {
            if let Some(Value::Object(found)) = config.get(key) {
                values.extend(found.clone());
            }
        }
        Self { name, values }
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|v| !v.is_null())
    }

    fn by(&self, key: &str) -> String {
        format!("{FILE}, {}{key}", self.name)
    }

    fn unexpected(&self, key: &str, expected: &str) -> anyhow::Error {
        let found = self.value(key).cloned().unwrap_or_default();
        usage(format!(
            "{}: expected {expected}, found {found}",
            self.by(key)
        ))
    }

    fn number(&self, key: &str, default: usize) -> anyhow::Result<MaybeStated<usize>> {
        match self.value(key) {
            None => Ok(stated(default, by_default(key))),
            Some(value) => {
                let number = value.as_u64().and_then(|n| usize::try_from(n).ok());
                let number =
                    number.ok_or_else(|| self.unexpected(key, "a non-negative integer"))?;
                Ok(stated(number, self.by(key)))
            }
        }
    }

    fn encoder(&self, d: &Defaults) -> anyhow::Result<EncoderConfig> {
        let activation = match self.value("hidden_act").map(Value::as_str) {
            None => stated(Activation::QuickGelu, by_default("hidden_act")),
            Some(Some("quick_gelu")) => stated(Activation::QuickGelu, self.by("hidden_act")),
            Some(Some("gelu")) => stated(Activation::Gelu, self.by("hidden_act")),
            Some(_) => return Err(self.unexpected("hidden_act", "gelu or quick_gelu")),
        };
        let norm_eps = match self.value("layer_norm_eps") {
            None => stated(1e-5, by_default("layer_norm_eps")),
            Some(value) => {
                let eps = value.as_f64();
                let eps = eps.ok_or_else(|| self.unexpected("layer_norm_eps", "a number"))?;
                stated(eps, self.by("layer_norm_eps"))
            }
        };
        Ok(EncoderConfig {
            width: self.number("hidden_size", d.width)?,
            layers: self.number("num_hidden_layers", d.layers)?,
            heads: self.number("num_attention_heads", d.heads)?,
            hidden: self.number("intermediate_size", d.hidden)?,
            activation,
            norm_eps,
        })
    }
}

fn by_default(key: &str) -> String {
    format!("default of model_type clip, {key}")
}

/// Checks that the end token is the largest id: our text encoder takes its feature at the position
/// of the largest id (notation 3.2).
fn check_end(text: &Section, vocab: usize) -> anyhow::Result<()> {
    // Old files state 2 and mean the largest id.
    let Some(end) = text.value("eos_token_id").and_then(Value::as_u64) else {
        return Ok(());
    };
    if end == 2 || end + 1 == vocab as u64 {
        return Ok(());
    }
    Err(text.unexpected(
        "eos_token_id",
        &format!("the largest id {}", vocab.saturating_sub(1)),
    ))
}

/// Reads the settings that a `config.json` states.
///
/// # Errors
/// Bad usage naming the key: not CLIP, or an unsupported value.
pub fn read_config(config: &Value) -> anyhow::Result<StatedConfig> {
    let top = Section {
        name: "",
        values: config.as_object().cloned().unwrap_or_default(),
    };
    if config.get("model_type").and_then(Value::as_str) != Some("clip") {
        return Err(top.unexpected("model_type", "clip"));
    }
    let mut vision = Section::of(config, "vision_config");
    let mut text = Section::of(config, "text_config");
    for section in [&mut vision, &mut text] {
        section.name = match section.name {
            "vision_config" => "vision_config.",
            _ => "text_config.",
        };
    }
    let channels = vision.number("num_channels", 3)?;
    if channels.is_some_and(|c| c.value != 3) {
        return Err(vision.unexpected("num_channels", "3"));
    }
    let vocab = text.number("vocab_size", 49_408)?;
    check_end(&text, vocab.as_ref().map_or(0, |v| v.value))?;
    Ok(StatedConfig {
        vision: vision.encoder(&VISION)?,
        text: text.encoder(&TEXT)?,
        image_size: vision.number("image_size", 224)?,
        patch: vision.number("patch_size", 32)?,
        vocab,
        context: text.number("max_position_embeddings", 77)?,
        embed: top.number("projection_dim", 512)?,
        pre_norm: stated(true, "model_type clip"),
        ..family::clip("model_type clip", TokenizerRules::Transformers)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stated_values_name_their_key_and_other_values_the_default() {
        let config = json!({
            "model_type": "clip", "projection_dim": 768,
            "vision_config": {"hidden_size": 1024, "num_attention_heads": 16, "patch_size": 14,
                "layer_norm_eps": 1e-6},
            "text_config_dict": {"hidden_act": "gelu"},
        });
        let settings = read_config(&config).unwrap();
        assert_eq!(
            settings.vision.heads,
            stated(16, "config.json, vision_config.num_attention_heads")
        );
        assert_eq!(settings.vision.norm_eps.unwrap().value, 1e-6);
        assert_eq!(settings.text.activation.unwrap().value, Activation::Gelu);
        assert_eq!(
            settings.vision.activation,
            stated(
                Activation::QuickGelu,
                "default of model_type clip, hidden_act"
            )
        );
        assert_eq!(settings.embed.unwrap().value, 768);
    }

    #[test]
    fn the_error_for_another_model_names_the_key() {
        let text = |t: Value| json!({"model_type": "clip", "text_config": t});
        for (config, key) in [
            (json!({"model_type": "align"}), "model_type"),
            (json!({}), "model_type"),
            (
                text(json!({"hidden_act": "relu"})),
                "text_config.hidden_act",
            ),
            (text(json!({"vocab_size": -1})), "text_config.vocab_size"),
            (text(json!({"eos_token_id": 7})), "text_config.eos_token_id"),
        ] {
            let message = read_config(&config).unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
    }
}
