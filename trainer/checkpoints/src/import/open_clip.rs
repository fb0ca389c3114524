//! Reads `open_clip_config.json`: `model_cfg` and `preprocess_cfg`.
//!
//! A missing key has open_clip's documented default. An unknown key is an error, and switches of
//! parts that our encoders lack must be off.

use std::borrow::Cow;

use espalier_core::input::TokenizerRules;
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;
use serde_json::{Map, Value};

use super::family;
use super::preprocessing;
use super::section::Section;
use super::stated_config::{MaybeStated, StatedConfig, stated};

const FILE: &str = "open_clip_config.json";

/// Keys of `model_cfg` that are read, or that have no effect.
const TOP_KEYS: [&str; 11] = [
    "embed_dim",
    "vision_cfg",
    "text_cfg",
    "quick_gelu",
    "custom_text",
    "init_logit_scale",
    "nonscalar_logit_scale",
    "cast_dtype",
    "output_dict",
    "init_logit_bias",
    "preprocess_cfg",
];

/// Keys of `vision_cfg` that are read.
const VISION_KEYS: [&str; 11] = [
    "layers",
    "width",
    "head_width",
    "mlp_ratio",
    "patch_size",
    "image_size",
    "no_ln_pre",
    "pos_embed_type",
    "final_ln_after_pool",
    "pool_type",
    "norm_kwargs",
];

/// Keys of `text_cfg` that are read, or that have no effect.
const TEXT_KEYS: [&str; 9] = [
    "context_length",
    "vocab_size",
    "width",
    "heads",
    "layers",
    "mlp_ratio",
    "final_ln_after_pool",
    "pool_type",
    "norm_kwargs",
];

/// Reads the pooling of the image encoder.
fn pool(vision: &Section<'_>) -> anyhow::Result<MaybeStated<Pool>> {
    let after = vision.is("final_ln_after_pool")?;
    match vision.value("pool_type").map(Value::as_str) {
        None => Ok(stated(Pool::Class, vision.by_default("pool_type"))),
        // The norm acts on each token separately, so for one token its position does not matter.
        Some(Some("tok")) => Ok(stated(Pool::Class, vision.by("pool_type"))),
        Some(Some("avg")) if !after => Ok(stated(Pool::PatchMean, vision.by("pool_type"))),
        _ => Err(vision.unexpected("pool_type", "`tok`, or `avg` without final_ln_after_pool")),
    }
}

/// The sections of a configuration.
struct Sections<'a> {
    top: Section<'a>,
    vision: Section<'a>,
    text: Section<'a>,
}

impl<'a> Sections<'a> {
    /// Checks the keys of all sections, and that both encoders have one.
    fn read(config: &'a Value) -> anyhow::Result<Self> {
        let model = config.get("model_cfg").unwrap_or(config);
        let part = |key: &str| model.get(key).and_then(Value::as_object);
        let section = |name: &'static str, values: Option<&'a Map<String, Value>>| Section {
            file: FILE,
            name,
            values: values.map(Cow::Borrowed).unwrap_or_default(),
            defaults: "open_clip",
        };
        let top = section("model_cfg.", model.as_object());
        let vision = section("model_cfg.vision_cfg.", part("vision_cfg"));
        let text = section("model_cfg.text_cfg.", part("text_cfg"));
        top.check(&TOP_KEYS)?;
        vision.check(&VISION_KEYS)?;
        text.check(&TEXT_KEYS)?;
        if part("vision_cfg").is_none() || part("text_cfg").is_none() {
            return Err(top.unexpected("vision_cfg", "vision_cfg and text_cfg"));
        }
        if text.value("pool_type").is_some_and(|v| v != "argmax") {
            return Err(text.unexpected("pool_type", "argmax"));
        }
        Ok(Self { top, vision, text })
    }
}

/// Reads the non-linearity of both encoders.
fn activation(top: &Section<'_>) -> anyhow::Result<MaybeStated<Activation>> {
    Ok(match top.value("quick_gelu") {
        None => stated(Activation::Gelu, top.by_default("quick_gelu")),
        Some(_) => {
            let quick = top.is("quick_gelu")?;
            let kind = [Activation::Gelu, Activation::QuickGelu][usize::from(quick)];
            stated(kind, top.by("quick_gelu"))
        }
    })
}

/// Reads the kind of the positional embedding of the image encoder.
fn positions(vision: &Section<'_>) -> anyhow::Result<MaybeStated<Positions>> {
    Ok(match vision.value("pos_embed_type").map(Value::as_str) {
        None => stated(Positions::Learned, vision.by_default("pos_embed_type")),
        Some(Some("learnable")) => stated(Positions::Learned, vision.by("pos_embed_type")),
        Some(Some("sin_cos_2d")) => stated(Positions::Sincos, vision.by("pos_embed_type")),
        Some(_) => return Err(vision.unexpected("pos_embed_type", "learnable or sin_cos_2d")),
    })
}

/// Reads the settings of an `open_clip_config.json` or of a `model_cfg` alone.
///
/// # Errors
/// Bad usage naming the key: a part that our encoders lack, or an unsupported value.
pub fn read_config(config: &Value) -> anyhow::Result<StatedConfig> {
    let Sections { top, vision, text } = Sections::read(config)?;
    let activation = activation(&top)?;
    let head = vision.number("head_width", Some(64))?;
    let head = head.map_or((64, String::new()), |h| (h.value.max(1), h.by));
    let unset = Value::Object(Map::new());
    let pixels = config.get("preprocess_cfg").unwrap_or(&unset);
    let by = format!("{FILE}, preprocess_cfg");
    Ok(StatedConfig {
        vision: vision.encoder(768, activation.clone(), |width| {
            Ok(stated(width / head.0, head.1.clone()))
        })?,
        text: text.encoder(512, activation, |_| text.number("heads", Some(8)))?,
        image_size: vision.number("image_size", Some(224))?,
        patch: vision.number("patch_size", Some(16))?,
        vocab: text.number("vocab_size", Some(49_408))?,
        context: text.number("context_length", Some(77))?,
        embed: top.number("embed_dim", None)?,
        pool: pool(&vision)?,
        positions: positions(&vision)?,
        pre_norm: stated(!vision.is("no_ln_pre")?, vision.by("no_ln_pre")),
        pixels: preprocessing::open_clip(pixels, &by)?,
        ..family::clip("open_clip", TokenizerRules::OpenClip)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_keys_have_open_clips_defaults() {
        let settings = read_config(&json!({"model_cfg": {
            "embed_dim": 512, "vision_cfg": {"width": 1280, "head_width": 80, "layers": 32,
                "mlp_ratio": 4.9231, "patch_size": 14},
            "text_cfg": {"width": 1024, "heads": 16, "layers": 24, "norm_kwargs": {"eps": 1e-6}},
        }}))
        .unwrap();
        assert_eq!(settings.vision.heads.unwrap().value, 16);
        assert_eq!(settings.vision.hidden.unwrap().value, 6301);
        assert_eq!(settings.text.norm_eps.unwrap().value, 1e-6);
        assert_eq!(
            settings.text.activation,
            stated(Activation::Gelu, "default of open_clip, quick_gelu")
        );
    }

    #[test]
    fn the_error_for_an_unsupported_part_names_its_key() {
        for (key, value) in [
            ("timm_model_name", json!("vit_base_patch16_224")),
            ("ls_init_value", json!(1e-5)),
            ("attentional_pool", json!(true)),
            ("something_new", json!(1)),
            ("pool_type", json!("none")),
            ("layers", json!([2, 2, 6, 2])),
        ] {
            let config = json!({"embed_dim": 8, "vision_cfg": {key: value}, "text_cfg": {}});
            let message = read_config(&config).unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
        assert!(read_config(&json!({"embed_dim": 8})).is_err());
        assert!(read_config(&json!([1])).is_err());
    }
}
