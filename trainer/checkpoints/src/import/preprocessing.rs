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

/// A configuration of preprocessing.
#[derive(Clone, Copy)]
struct Keys<'a> {
    config: &'a Value,
    /// Its name in messages.
    by: &'a str,
}

impl<'a> Keys<'a> {
    fn value(self, key: &str) -> Option<&'a Value> {
        self.config.get(key).filter(|v| !v.is_null())
    }

    fn origin(self, key: &str) -> String {
        format!("{}, {key}", self.by)
    }

    fn unexpected(self, key: &str, expected: &str, found: &Value) -> anyhow::Error {
        let by = self.by;
        usage(format!("{by}: `{key}`: expected {expected}, found {found}"))
    }

    /// Reads the value of a key, if it is stated; `read` returns `None` for an unsupported value.
    fn read<T>(
        self,
        key: &str,
        expected: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> anyhow::Result<MaybeStated<T>> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let found = read(value).ok_or_else(|| self.unexpected(key, expected, value))?;
        Ok(stated(found, self.origin(key)))
    }
}

/// Reads which arithmetic an image processor of `transformers` resizes with, and where its centre
/// crop begins: those whose name ends in `Fast` use torchvision's tensors, the others Pillow.
fn hf_arithmetic(
    keys: Keys<'_>,
) -> anyhow::Result<(MaybeStated<Resampling>, MaybeStated<CropOffset>)> {
    let is_bilinear = |value: &Value| match value.as_u64() {
        Some(BILINEAR) => Some(true),
        Some(BICUBIC) => Some(false),
        _ => None,
    };
    let bilinear = keys.read("resample", "2 (bilinear) or 3 (bicubic)", is_bilinear)?;
    let bilinear = bilinear.is_some_and(|bilinear| bilinear.value);
    let mut names = ["image_processor_type", "feature_extractor_type"].into_iter();
    let (by, name) = match names.find_map(|key| Some((key, keys.value(key)?))) {
        Some((key, name)) => (keys.origin(key), name.as_str().unwrap_or_default()),
        None => ("default of transformers, image_processor_type".into(), ""),
    };
    let (resampling, offset) = match (name.ends_with("Fast"), bilinear) {
        (true, false) => (Resampling::Bicubic, CropOffset::HalfToEven),
        (true, true) => {
            let expected = "3 (bicubic) for an image processor of tensors";
            return Err(keys.unexpected("resample", expected, &Value::from(BILINEAR)));
        }
        (false, true) => (Resampling::PillowBilinear, CropOffset::Down),
        (false, false) => (Resampling::PillowBicubic, CropOffset::Down),
    };
    Ok((stated(resampling, by.clone()), stated(offset, by)))
}

/// Reads three numbers, or one for all three channels.
fn triple(value: &Value) -> Option<[f32; 3]> {
    let number = |v: &Value| v.as_f64().map(|n| n as f32);
    match value {
        Value::Array(list) => {
            let numbers: Option<Vec<f32>> = list.iter().map(number).collect();
            numbers?.try_into().ok()
        }
        value => number(value).map(|n| [n; 3]),
    }
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
fn hf_square(keys: Keys<'_>) -> anyhow::Result<Option<(ResizeMode, usize)>> {
    let Some(size) = keys.value("size") else {
        return Ok(None);
    };
    let on = |key: &str| keys.value(key).and_then(Value::as_bool).unwrap_or(true);
    if !on("do_resize") {
        return Err(keys.unexpected("do_resize", "true", &Value::Bool(false)));
    }
    let crop = match on("do_center_crop") {
        true => keys.read("crop_size", "a square", square)?,
        false => None,
    };
    let short = size.get("shortest_edge").and_then(Value::as_u64);
    let short = short.or_else(|| size.as_u64()).map(|n| n as usize);
    let fits = match (short, square(size), crop.map(|crop| crop.value)) {
        (Some(short), _, Some(crop)) if short == crop => Some((ResizeMode::CentreCrop, crop)),
        (None, Some(side), None) => Some((ResizeMode::Squeeze, side)),
        (None, Some(side), Some(crop)) if side == crop => Some((ResizeMode::Squeeze, side)),
        _ => None,
    };
    let expected = "the shortest side resized to the side of the crop, or a square without a crop";
    fits.map(Some)
        .ok_or_else(|| keys.unexpected("size and crop_size", expected, keys.config))
}

/// Reads `preprocessor_config.json`.
///
/// # Errors
/// Bad usage naming the key, for unsupported preprocessing.
pub fn hugging_face(config: &Value, by: &str) -> anyhow::Result<Pixels> {
    // A file with several processors has a separate section for images.
    let config = config.get("image_processor").unwrap_or(config);
    let keys = Keys { config, by };
    let (resampling, crop_offset) = hf_arithmetic(keys)?;
    let third = |v: &Value| v.as_f64().is_some_and(|f| (f * 255.0 - 1.0).abs() < 1e-6);
    if let Some(value) = keys.value("rescale_factor").filter(|v| !third(v)) {
        return Err(keys.unexpected("rescale_factor", "1/255", value));
    }
    let numbers = |key| keys.read(key, "three numbers", triple);
    let (mean, std) = if keys.value("do_normalize") == Some(&Value::Bool(false)) {
        let by = keys.origin("do_normalize");
        (stated([0.0; 3], by.clone()), stated([1.0; 3], by))
    } else {
        (numbers("image_mean")?, numbers("image_std")?)
    };
    let square = hf_square(keys)?;
    let by = keys.origin("size");
    Ok(Pixels {
        mean,
        std,
        resize: square.and_then(|(mode, _)| stated(mode, by.clone())),
        size: square.and_then(|(_, side)| stated(side, by)),
        resampling,
        crop_offset,
    })
}

/// Reads open_clip's `preprocess_cfg`; a missing key has open_clip's documented default.
///
/// # Errors
/// Bad usage naming the key, for unsupported preprocessing.
pub fn open_clip(config: &Value, by: &str) -> anyhow::Result<Pixels> {
    let keys = Keys { config, by };
    let default = "default of open_clip's preprocess_cfg";
    // torchvision's transforms of Pillow's images.
    let filter = |value: &Value| match value.as_str() {
        Some("bicubic") => Some(Resampling::PillowBicubic),
        Some("bilinear") => Some(Resampling::PillowBilinear),
        _ => None,
    };
    let resampling = keys.read("interpolation", "bicubic or bilinear", filter)?;
    if let Some(value) = keys.value("mode").filter(|v| v.as_str() != Some("RGB")) {
        return Err(keys.unexpected("mode", "RGB", value));
    }
    let mode = |value: &Value| match value.as_str() {
        Some("shortest") => Some(ResizeMode::CentreCrop),
        Some("squash") => Some(ResizeMode::Squeeze),
        _ => None,
    };
    let resize = keys.read("resize_mode", "shortest or squash", mode)?;
    let numbers = |key| keys.read(key, "three numbers", triple);
    Ok(Pixels {
        mean: numbers("mean")?.or_else(|| stated(OPENAI.0, default)),
        std: numbers("std")?.or_else(|| stated(OPENAI.1, default)),
        resize: resize.or_else(|| stated(ResizeMode::CentreCrop, default)),
        size: keys.read("size", "a square", square)?,
        resampling: resampling.or_else(|| stated(Resampling::PillowBicubic, default)),
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
