//! Merges stated settings, tensor shapes and flags into one architecture. All settings that remain
//! unknown are reported together.

use espalier_core::input::{CropOffset, Preprocess, Resampling};
use espalier_core::model::{DualConfig, LiftKind, TextConfig, VitConfig};
use espalier_io::exit::usage;

use super::choices::{Choice, Choices, missing_choices};
use super::flags::{ActivationName, Flags, ResamplingName, ResizeName, TokenizerName, triple};
use super::stated_config::{MaybeStated, Pixels, StatedConfig, stated};
use crate::layout::{Layout, Measured};

/// An architecture and the choices it consists of.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Architecture.
    pub config: DualConfig,
    /// Preprocessing.
    pub preprocess: Preprocess,
    /// Choices, in the order in which they were made.
    pub choices: Vec<Choice>,
}

/// Mean and standard deviation, if the file stores them as tensors.
pub type PixelTensors = Option<([f32; 3], [f32; 3])>;

/// Information from the weights file and from `--preprocess`, in addition to the stated settings.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// Naming scheme of the tensors.
    pub layout: Layout,
    /// Sizes derived from the shapes.
    pub measured: &'a Measured,
    /// Embedding space, determined from the learned scalars.
    pub lift: LiftKind,
    /// Pixel statistics among the tensors.
    pub pixels: PixelTensors,
    /// Whether there is a norm before the first block.
    pub pre_norm: bool,
    /// Settings read from `--preprocess`.
    pub preprocess: Pixels,
}

fn preprocess(
    choices: &mut Choices,
    flags: &Flags,
    of_source: &Pixels,
    evidence: &Evidence<'_>,
    image_size: usize,
) -> anyhow::Result<([f32; 3], [f32; 3], Preprocess)> {
    let by_flag = &evidence.preprocess;
    let or = |flag: Option<[f32; 3]>, named: &MaybeStated<[f32; 3]>| {
        flag.or(named.as_ref().map(|m| m.value))
    };
    let mean = triple("--image-mean", flags.image_mean.as_ref())?;
    let std = triple("--image-std", flags.image_std.as_ref())?;
    let resize = flags.image_resize_mode.map(ResizeName::value);
    let resize = resize.or(by_flag.resize.as_ref().map(|r| r.value));
    let (stored_mean, stored_std) = evidence.pixels.unzip();
    // A configuration counts more than the tensors beside the weights.
    let or_stored = |named: &MaybeStated<[f32; 3]>, stored: Option<[f32; 3]>, tensor: &str| {
        let stored = stored.and_then(|value| stated(value, format!("tensor `{tensor}`")));
        named.clone().or(stored)
    };
    let mean = choices.choose(
        "pixel mean",
        ("--image-mean or --preprocess", or(mean, &by_flag.mean)),
        or_stored(&of_source.mean, stored_mean, "pixel_mean"),
    );
    let std = choices.choose(
        "pixel standard deviation",
        ("--image-std or --preprocess", or(std, &by_flag.std)),
        or_stored(&of_source.std, stored_std, "pixel_std"),
    );
    let resize = choices.choose(
        "resize mode",
        ("--image-resize-mode or --preprocess", resize),
        of_source.resize.clone(),
    );
    let (resampling, crop_offset) = arithmetic(choices, flags, of_source, by_flag);
    for size in [&of_source.size, &by_flag.size].into_iter().flatten() {
        if size.value != image_size && image_size > 0 {
            return Err(usage(format!(
                "{}: expected {image_size}, the input side of the image encoder, found {}",
                size.by, size.value
            )));
        }
    }
    let unset = [1.0; 3];
    Ok((
        mean.unwrap_or(unset),
        std.unwrap_or(unset),
        Preprocess {
            resampling,
            crop_offset,
            ..Preprocess::new(image_size as u32, resize.unwrap_or_default())
        },
    ))
}

/// Chooses the arithmetic of resizing and where a centre crop begins. Where nothing names them, they
/// are those of torchvision's transforms of Pillow's images, with which CLIP was published.
fn arithmetic(
    choices: &mut Choices,
    flags: &Flags,
    of_source: &Pixels,
    by_flag: &Pixels,
) -> (Resampling, CropOffset) {
    let default = "default, torchvision's transforms of Pillow's images";
    let named = flags.image_resampling.map(ResamplingName::value);
    let named = named.or(by_flag.resampling.as_ref().map(|r| r.value));
    let source = of_source.resampling.clone();
    let resampling = choices.choose(
        "resampling",
        ("--image-resampling or --preprocess", named),
        source.or_else(|| stated(Resampling::PillowBicubic, default)),
    );
    let named = by_flag.crop_offset.as_ref().map(|o| o.value);
    let source = of_source.crop_offset.clone();
    let crop_offset = choices.choose(
        "offset of the crop",
        ("--preprocess", named),
        source.or_else(|| stated(CropOffset::HalfToEven, default)),
    );
    (
        resampling.unwrap_or_default(),
        crop_offset.unwrap_or_default(),
    )
}

/// Returns the width of feed-forward layers, or `None` for the default: default values are left
/// unset, so that equal models have equal configurations.
fn nondefault_hidden(hidden: usize, width: usize) -> Option<usize> {
    Some(hidden).filter(|h| *h != 4 * width)
}

/// Returns the epsilon of norms, or `None` for the default.
fn nondefault_eps(eps: f64) -> Option<f64> {
    Some(eps).filter(|e| (*e - 1e-5).abs() > 1e-12)
}

/// Chooses the settings of the image encoder for images and patches of these sides; `None` if one
/// is missing.
fn image_encoder(
    choices: &mut Choices,
    (image_size, patch): (usize, usize),
    stated: &StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> Option<VitConfig> {
    let m = evidence.measured;
    let v = stated.vision.clone();
    let width = choices.size("width of the image encoder", v.width, m.vision_width);
    let layers = choices.size("layers of the image encoder", v.layers, m.vision_layers);
    let flag = ("--heads", flags.heads);
    let heads = choices.choose("heads of the image encoder", flag, v.heads);
    let hidden = choices.size(
        "feed-forward of the image encoder",
        v.hidden,
        m.vision_hidden,
    );
    let act = ("--activation", flags.activation.map(ActivationName::value));
    let act = choices.choose("activation of the image encoder", act, v.activation);
    let eps = choices.find("norm epsilon of the image encoder", v.norm_eps, None);
    let positions = choices.find("image positions", stated.positions.clone(), None);
    let pool = choices.find("image feature", stated.pool.clone(), None);
    let pre_norm = choices.find(
        "norm before the first block",
        stated.pre_norm.clone(),
        Some(evidence.pre_norm),
    );
    let bias = choices.find("patch bias", stated.patch_bias.clone(), None);
    Some(
        VitConfig::new(image_size, patch, width, layers, heads?)
            .with_activation(act?)
            .with_positions(positions?)
            .with_pool(pool?)
            .with_patch_bias(bias?)
            .with_pre_norm(pre_norm?)
            .with_d_hidden(nondefault_hidden(hidden, width))
            .with_norm_eps(nondefault_eps(eps?)),
    )
}

/// Chooses the settings of the text encoder; `None` if one is missing.
fn text_encoder(
    choices: &mut Choices,
    stated: &StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> Option<TextConfig> {
    let m = evidence.measured;
    let t = stated.text.clone();
    let vocab = choices.size("number of token ids", stated.vocab.clone(), m.vocab);
    let context = choices.size("context length", stated.context.clone(), m.context);
    let width = choices.size("width of the text encoder", t.width, m.text_width);
    let layers = choices.size("layers of the text encoder", t.layers, m.text_layers);
    let flag = ("--text-heads", flags.text_heads);
    let heads = choices.choose("heads of the text encoder", flag, t.heads);
    let hidden = choices.size("feed-forward of the text encoder", t.hidden, m.text_hidden);
    let act = ("--activation", flags.activation.map(ActivationName::value));
    let act = choices.choose("activation of the text encoder", act, t.activation);
    let eps = choices.find("norm epsilon of the text encoder", t.norm_eps, None);
    let rules = ("--tokenizer", flags.tokenizer.map(TokenizerName::value));
    let rules = choices.choose("rules of the tokenizer", rules, stated.tokenizer.clone());
    Some(
        TextConfig::new(vocab, context, width, layers, heads?)
            .with_tokenizer(rules?)
            .with_activation(act?)
            .with_d_hidden(nondefault_hidden(hidden, width))
            .with_norm_eps(nondefault_eps(eps?)),
    )
}

/// Merges everything into an architecture that can be built.
///
/// # Errors
/// Bad usage that lists every missing choice with its flag, or
/// [`espalier_core::CoreError::Config`] for an architecture that cannot be built.
pub fn resolve(
    stated: StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> anyhow::Result<Resolved> {
    let m = evidence.measured;
    let mut choices = Choices::default();
    let image_size = choices.size("side of the image", stated.image_size.clone(), m.image_size);
    let patch = choices.size("side of a patch", stated.patch.clone(), m.patch);
    let vision = image_encoder(&mut choices, (image_size, patch), &stated, evidence, flags);
    let text = text_encoder(&mut choices, &stated, evidence, flags);
    let embed = choices.size("width of the embeddings", stated.embed, m.embed);
    let (mean, std, preprocess) =
        preprocess(&mut choices, flags, &stated.pixels, evidence, image_size)?;
    let (Some(vision), Some(text), true) = (vision, text, choices.missing.is_empty()) else {
        return Err(missing_choices(evidence.layout, &choices.missing));
    };
    let config = DualConfig::new(vision, text, embed)
        .with_lift(evidence.lift)
        .with_pixel_mean(mean)
        .with_pixel_std(std);
    config.validate()?;
    Ok(Resolved {
        preprocess,
        config,
        choices: choices.made,
    })
}
