//! Reads `config.json` of `transformers`' CLIP.
//!
//! Such a file may omit keys that have the documented default of its `model_type`; the report
//! names each default that is used.

use std::borrow::Cow;

use espalier_core::input::TokenizerRules;
use espalier_core::nn::Activation;
use serde_json::{Map, Value};

use super::family;
use super::section::Section;
use super::stated_config::{EncoderConfig, StatedConfig, stated};

/// Returns the values below `key`; those below `key_dict`, an older form, override them.
fn values(config: &Value, key: &str) -> Map<String, Value> {
    let older = format!("{key}_dict");
    let keys = [key, older.as_str()].into_iter();
    let found = keys.filter_map(|key| config.get(key)?.as_object());
    found.flat_map(Map::clone).collect()
}

/// Reads the settings of an encoder, of which `width` and `heads` are documented defaults.
fn encoder(section: &Section<'_>, width: usize, heads: usize) -> anyhow::Result<EncoderConfig> {
    let activation = match section.value("hidden_act").map(Value::as_str) {
        None => stated(Activation::QuickGelu, section.by_default("hidden_act")),
        Some(Some("quick_gelu")) => stated(Activation::QuickGelu, section.by("hidden_act")),
        Some(Some("gelu")) => stated(Activation::Gelu, section.by("hidden_act")),
        Some(_) => return Err(section.unexpected("hidden_act", "gelu or quick_gelu")),
    };
    let norm_eps = match section.value("layer_norm_eps") {
        None => stated(1e-5, section.by_default("layer_norm_eps")),
        Some(value) => {
            let eps = value.as_f64();
            let eps = eps.ok_or_else(|| section.unexpected("layer_norm_eps", "a number"))?;
            stated(eps, section.by("layer_norm_eps"))
        }
    };
    Ok(EncoderConfig {
        width: section.number("hidden_size", Some(width))?,
        layers: section.number("num_hidden_layers", Some(12))?,
        heads: section.number("num_attention_heads", Some(heads))?,
        hidden: section.number("intermediate_size", Some(4 * width))?,
        activation,
        norm_eps,
    })
}

/// Checks that the end token is the largest id: our text encoder takes its feature at the position
/// of the largest id (notation 3.2).
fn check_end(text: &Section<'_>, vocab: usize) -> anyhow::Result<()> {
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
    let section = |name, values| Section {
        file: "config.json",
        name,
        values: Cow::Owned(values),
        defaults: "model_type clip",
    };
    let top = section("", config.as_object().cloned().unwrap_or_default());
    if config.get("model_type").and_then(Value::as_str) != Some("clip") {
        return Err(top.unexpected("model_type", "clip"));
    }
    let vision = section("vision_config.", values(config, "vision_config"));
    let text = section("text_config.", values(config, "text_config"));
    let channels = vision.number("num_channels", Some(3))?;
    if channels.is_some_and(|c| c.value != 3) {
        return Err(vision.unexpected("num_channels", "3"));
    }
    let vocab = text.number("vocab_size", Some(49_408))?;
    check_end(&text, vocab.as_ref().map_or(0, |v| v.value))?;
    Ok(StatedConfig {
        vision: encoder(&vision, 768, 12)?,
        text: encoder(&text, 512, 8)?,
        image_size: vision.number("image_size", Some(224))?,
        patch: vision.number("patch_size", Some(32))?,
        vocab,
        context: text.number("max_position_embeddings", Some(77))?,
        embed: top.number("projection_dim", Some(512))?,
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
