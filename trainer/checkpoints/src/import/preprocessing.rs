//! Reads image preprocessing from `preprocessor_config.json` and open_clip's `preprocess_cfg`.

use espalier_core::input::{CropOffset, Resampling, ResizeMode};
use espalier_io::exit::usage;
use serde_json::Value;

use super::stated_config::{MaybeStated, Pixels, stated};

/// Pixel statistics of OpenAI's CLIP (notation 3.5).
#[expect(clippy::excessive_precision, reason = "as published")]
pub const OPENAI: ([f32; 3], [f32; 3]) = (
    [0.481_454_66, 0.457_827_5, 0.408_210_73],
    [0.268_629_54, 0.261_302_58, 0.275_777_11],
);
/// Pixel statistics of ImageNet (notation 3.3).
pub const IMAGENET: ([f32; 3], [f32; 3]) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);

/// Pillow's numbers for its filters.
const BILINEAR: u64 = 2;
const BICUBIC: u64 = 3;

/// Reads which arithmetic an image processor of `transformers` resizes with, and where its centre
/// crop begins: those whose name ends in `Fast` use torchvision's tensors, the others Pillow.
fn hf_arithmetic(
    config: &Value,
    by: &str,
) -> anyhow::Result<(MaybeStated<Resampling>, MaybeStated<CropOffset>)> {
    let of = |key: &str| config.get(key).filter(|v| !v.is_null());
    let filter = of("resample").map_or(Some(BICUBIC), Value::as_u64);
    let bilinear = match filter {
        Some(BILINEAR) => true,
        Some(BICUBIC) => false,
        _ => {
            let value = of("resample").cloned().unwrap_or_default();
            let expected = "2 (bilinear) or 3 (bicubic)";
            return Err(unexpected(by, "resample", expected, &value));
        }
    };
    let names = ["image_processor_type", "feature_extractor_type"];
    let named = names.into_iter().find_map(|key| Some((key, of(key)?)));
    let (key, name) = match named {
        Some((key, name)) => (
            format!("{by}, {key}"),
            name.as_str().unwrap_or_default().to_owned(),
        ),
        None => (
            "default of transformers, image_processor_type".into(),
            String::new(),
        ),
    };
    let (resampling, offset) = match (name.ends_with("Fast"), bilinear) {
        (true, false) => (Resampling::Bicubic, CropOffset::HalfToEven),
        (true, true) => {
            let expected = "3 (bicubic) for an image processor of tensors";
            let value = Value::from(BILINEAR);
            return Err(unexpected(by, "resample", expected, &value));
        }
        (false, true) => (Resampling::PillowBilinear, CropOffset::Down),
        (false, false) => (Resampling::PillowBicubic, CropOffset::Down),
    };
    Ok((stated(resampling, key.clone()), stated(offset, key)))
}

fn unexpected(by: &str, key: &str, expected: &str, found: &Value) -> anyhow::Error {
    usage(format!("{by}: `{key}`: expected {expected}, found {found}"))
}

/// Reads three numbers, or one for all three channels.
fn triple(by: &str, key: &str, value: &Value) -> anyhow::Result<[f32; 3]> {
    let numbers: Option<Vec<f32>> = match value {
        Value::Array(list) => list.iter().map(|v| v.as_f64().map(|n| n as f32)).collect(),
        Value::Number(n) => n.as_f64().map(|n| vec![n as f32; 3]),
        _ => None,
    };
    let three = numbers.and_then(|n| <[f32; 3]>::try_from(n).ok());
    three.ok_or_else(|| unexpected(by, key, "three numbers", value))
}

/// Reads the side of a square in pixels: one number, or two equal ones in any of the usual forms.
fn square(value: &Value) -> Option<usize> {
    let number = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok());
    match value {
        Value::Array(list) => match list.as_slice() {
            [side] => number(side),
            [a, b] if a == b => number(a),
            _ => None,
        },
        Value::Object(map) => match (map.get("height"), map.get("width")) {
            (Some(a), Some(b)) if a == b => number(a),
            _ => None,
        },
        _ => number(value),
    }
}

/// Reads how `transformers` resizes an image to a square: `size`, `crop_size` and the switches.
fn hf_square(config: &Value, by: &str) -> anyhow::Result<Option<(ResizeMode, usize)>> {
    let of = |key: &str| config.get(key).filter(|v| !v.is_null());
    let Some(size) = of("size") else {
        return Ok(None);
    };
    let on = |key: &str| of(key).and_then(Value::as_bool).unwrap_or(true);
    if !on("do_resize") {
        return Err(unexpected(by, "do_resize", "true", &Value::Bool(false)));
    }
    let crop = match of("crop_size").filter(|_| on("do_center_crop")) {
        Some(value) => {
            Some(square(value).ok_or_else(|| unexpected(by, "crop_size", "a square", value))?)
        }
        None => None,
    };
    let short = size.get("shortest_edge").and_then(Value::as_u64);
    let short = short.or_else(|| size.as_u64()).map(|n| n as usize);
    let fits = match (short, square(size), crop) {
        (Some(short), _, Some(crop)) if short == crop => Some((ResizeMode::CentreCrop, crop)),
        (None, Some(side), None) => Some((ResizeMode::Squeeze, side)),
        (None, Some(side), Some(crop)) if side == crop => Some((ResizeMode::Squeeze, side)),
        _ => None,
    };
    let expected = "the shortest side resized to the side of the crop, or a square without a crop";
    fits.map(Some)
        .ok_or_else(|| unexpected(by, "size and crop_size", expected, config))
}

/// Reads `preprocessor_config.json`.
///
/// # Errors
/// Bad usage naming the key, for unsupported preprocessing.
pub fn hugging_face(config: &Value, by: &str) -> anyhow::Result<Pixels> {
    // A file with several processors has a separate section for images.
    let config = config.get("image_processor").unwrap_or(config);
    let of = |key: &str| config.get(key).filter(|v| !v.is_null());
    let (resampling, crop_offset) = hf_arithmetic(config, by)?;
    let mut pixels = Pixels {
        resampling,
        crop_offset,
        ..Pixels::default()
    };
    let third = |v: &Value| v.as_f64().is_some_and(|f| (f * 255.0 - 1.0).abs() < 1e-6);
    if let Some(value) = of("rescale_factor").filter(|v| !third(v)) {
        return Err(unexpected(by, "rescale_factor", "1/255", value));
    }
    if of("do_normalize") == Some(&Value::Bool(false)) {
        let key = format!("{by}, do_normalize");
        pixels.mean = stated([0.0; 3], key.clone());
        pixels.std = stated([1.0; 3], key);
    } else {
        for (key, into) in [
            ("image_mean", &mut pixels.mean),
            ("image_std", &mut pixels.std),
        ] {
            if let Some(value) = of(key) {
                *into = stated(triple(by, key, value)?, format!("{by}, {key}"));
            }
        }
    }
    if let Some((mode, side)) = hf_square(config, by)? {
        pixels.resize = stated(mode, format!("{by}, size"));
        pixels.size = stated(side, format!("{by}, size"));
    }
    Ok(pixels)
}

/// Reads open_clip's `preprocess_cfg`; a missing key has open_clip's documented default.
///
/// # Errors
/// Bad usage naming the key, for unsupported preprocessing.
pub fn open_clip(config: &Value, by: &str) -> anyhow::Result<Pixels> {
    let default = || "default of open_clip's preprocess_cfg".to_owned();
    let of = |key: &str| config.get(key).filter(|v| !v.is_null());
    let key_of = |key: &str| format!("{by}, {key}");
    // torchvision's transforms of Pillow's images.
    let resampling = match of("interpolation") {
        None => stated(Resampling::PillowBicubic, default()),
        Some(value) => {
            let resampling = match value.as_str() {
                Some("bicubic") => Resampling::PillowBicubic,
                Some("bilinear") => Resampling::PillowBilinear,
                _ => {
                    let expected = "bicubic or bilinear";
                    return Err(unexpected(by, "interpolation", expected, value));
                }
            };
            stated(resampling, key_of("interpolation"))
        }
    };
    if let Some(value) = of("mode").filter(|v| v.as_str() != Some("RGB")) {
        return Err(unexpected(by, "mode", "RGB", value));
    }
    let numbers = |key: &str, or: [f32; 3]| -> anyhow::Result<_> {
        Ok(match of(key) {
            Some(value) => stated(triple(by, key, value)?, key_of(key)),
            None => stated(or, default()),
        })
    };
    let resize = match of("resize_mode") {
        None => stated(ResizeMode::CentreCrop, default()),
        Some(value) => {
            let mode = match value.as_str() {
                Some("shortest") => ResizeMode::CentreCrop,
                Some("squash") => ResizeMode::Squeeze,
                _ => return Err(unexpected(by, "resize_mode", "shortest or squash", value)),
            };
            stated(mode, key_of("resize_mode"))
        }
    };
    let size = match of("size") {
        None => None,
        Some(value) => {
            let side = square(value).ok_or_else(|| unexpected(by, "size", "a square", value))?;
            stated(side, key_of("size"))
        }
    };
    Ok(Pixels {
        mean: numbers("mean", OPENAI.0)?,
        std: numbers("std", OPENAI.1)?,
        resize,
        size,
        resampling,
        crop_offset: None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_forms_of_a_preprocessor_are_read() {
        for size in [json!(224), json!({"shortest_edge": 224})] {
            let config = json!({
                "size": size, "crop_size": {"height": 224, "width": 224}, "resample": 3,
                "image_mean": [0.5, 0.25, 0.125], "image_std": 0.5, "rescale_factor": 1.0 / 255.0,
            });
            let pixels = hugging_face(&config, "p").unwrap();
            assert_eq!(pixels.resize.unwrap().value, ResizeMode::CentreCrop);
            assert_eq!(pixels.size.unwrap().value, 224);
            assert_eq!(pixels.mean.unwrap().value, [0.5, 0.25, 0.125]);
            assert_eq!(pixels.std.unwrap().value, [0.5; 3]);
            // A file that names no image processor is from before there were two kinds.
            assert_eq!(pixels.resampling.unwrap().value, Resampling::PillowBicubic);
            assert_eq!(pixels.crop_offset.unwrap().value, CropOffset::Down);
        }
        let squeeze = json!({"size": {"height": 64, "width": 64}, "do_center_crop": false});
        let pixels = hugging_face(&squeeze, "p").unwrap();
        assert_eq!(pixels.resize.unwrap().value, ResizeMode::Squeeze);
        assert!(pixels.mean.is_none());
    }

    #[test]
    fn the_error_for_unsupported_preprocessing_names_the_key() {
        for (config, key) in [
            (json!({"resample": 1}), "`resample`"),
            (
                json!({"resample": 2, "image_processor_type": "CLIPImageProcessorFast"}),
                "`resample`",
            ),
            (
                json!({"size": 256, "crop_size": 224}),
                "`size and crop_size`",
            ),
            (json!({"image_mean": [1.0]}), "`image_mean`"),
            (json!({"rescale_factor": 1.0}), "`rescale_factor`"),
        ] {
            let message = hugging_face(&config, "p.json").unwrap_err().to_string();
            assert!(
                message.contains(key) && message.contains("p.json"),
                "{message}"
            );
        }
        for (config, key) in [
            (json!({"interpolation": "nearest"}), "`interpolation`"),
            (json!({"resize_mode": "longest"}), "`resize_mode`"),
        ] {
            let message = open_clip(&config, "c").unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
        }
    }

    #[test]
    fn the_name_of_the_processor_decides_on_the_arithmetic() {
        let cases = [
            (
                json!({"image_processor_type": "CLIPImageProcessorFast"}),
                Resampling::Bicubic,
            ),
            (
                json!({"image_processor_type": "CLIPImageProcessor"}),
                Resampling::PillowBicubic,
            ),
            (
                json!({"feature_extractor_type": "CLIPFeatureExtractor", "resample": 2}),
                Resampling::PillowBilinear,
            ),
        ];
        for (config, expected) in cases {
            let pixels = hugging_face(&config, "p").unwrap();
            assert_eq!(pixels.resampling.unwrap().value, expected, "{config}");
            let tensors = expected == Resampling::Bicubic;
            let even = pixels.crop_offset.unwrap().value == CropOffset::HalfToEven;
            assert_eq!(even, tensors, "{config}");
        }
        let named = open_clip(&json!({"interpolation": "bilinear"}), "c").unwrap();
        assert_eq!(named.resampling.unwrap().value, Resampling::PillowBilinear);
        let default = open_clip(&json!({}), "c").unwrap();
        assert_eq!(default.resampling.unwrap().value, Resampling::PillowBicubic);
    }

    #[test]
    fn missing_keys_have_open_clips_defaults() {
        let pixels = open_clip(&json!({"resize_mode": "squash", "size": [32, 32]}), "c").unwrap();
        assert_eq!(pixels.mean.clone().unwrap().value, OPENAI.0);
        assert!(pixels.mean.unwrap().by.contains("default"));
        assert_eq!(pixels.resize.unwrap().value, ResizeMode::Squeeze);
        assert_eq!(pixels.size.unwrap().value, 32);
    }
}
