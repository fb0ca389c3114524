//! Merges stated settings, tensor shapes and flags into one architecture. All settings that remain
//! unknown are reported together.

use espalier_core::input::{Preprocess, ResizeMode};
use espalier_core::model::{DualConfig, LiftKind, TextConfig, VitConfig};

use super::choices::{Choice, Choices, asked};
use super::flags::{ActivationName, Flags, ResizeName, triple};
use super::stated_config::{Maybe, Pixels, StatedConfig};
use crate::exit::usage;
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
    c: &mut Choices,
    flags: &Flags,
    said: &Pixels,
    evidence: &Evidence<'_>,
    image_size: usize,
) -> anyhow::Result<([f32; 3], [f32; 3], ResizeMode)> {
    let by_flag = &evidence.preprocess;
    let or =
        |flag: Option<[f32; 3]>, named: &Maybe<[f32; 3]>| flag.or(named.as_ref().map(|m| m.value));
    let mean = or(
        triple("--image-mean", flags.image_mean.as_ref())?,
        &by_flag.mean,
    );
    let std = or(
        triple("--image-std", flags.image_std.as_ref())?,
        &by_flag.std,
    );
    let resize = flags.image_resize_mode.map(ResizeName::value);
    let resize = resize.or(by_flag.resize.as_ref().map(|r| r.value));
    let (shown_mean, shown_std) = evidence.pixels.unzip();
    let mean = c.take(
        "pixel mean",
        ("--image-mean or --preprocess", mean),
        said.mean.clone(),
        shown_mean,
    );
    let std = c.take(
        "pixel standard deviation",
        ("--image-std or --preprocess", std),
        said.std.clone(),
        shown_std,
    );
    let resize = c.take(
        "resize mode",
        ("--image-resize-mode or --preprocess", resize),
        said.resize.clone(),
        None,
    );
    for size in [&said.size, &by_flag.size].into_iter().flatten() {
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
        resize.unwrap_or_default(),
    ))
}

/// Returns the width of feed-forward layers, or `None` for the default: default values are left
/// unset, so that equal models have equal configurations.
fn unusual_hidden(hidden: usize, width: usize) -> Option<usize> {
    Some(hidden).filter(|h| *h != 4 * width)
}

/// Returns the epsilon of norms, or `None` for the default.
fn unusual_eps(eps: f64) -> Option<f64> {
    Some(eps).filter(|e| (*e - 1e-5).abs() > 1e-12)
}

/// Chooses the settings of the image encoder for images and patches of these sides; `None` if one
/// is missing.
fn image_encoder(
    c: &mut Choices,
    (image_size, patch): (usize, usize),
    said: &StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> Option<VitConfig> {
    let m = evidence.measured;
    let v = said.vision.clone();
    let width = c.size("width of the picture tower", v.width, m.vision_width);
    let layers = c.size("layers of the picture tower", v.layers, m.vision_layers);
    let given = ("--heads", flags.heads);
    let heads = c.take("heads of the picture tower", given, v.heads, None);
    let hidden = c.size(
        "feed-forward of the picture tower",
        v.hidden,
        m.vision_hidden,
    );
    let act = ("--activation", flags.activation.map(ActivationName::value));
    let act = c.take("activation of the picture tower", act, v.activation, None);
    let eps = c.take(
        "norm epsilon of the picture tower",
        ("", None),
        v.norm_eps,
        None,
    );
    let positions = said.positions.clone();
    let positions = c.take("picture positions", ("", None), positions, None);
    let pool = c.take("picture feature", ("", None), said.pool.clone(), None);
    let pre_norm = c.take(
        "norm before the first block",
        ("", None),
        said.pre_norm.clone(),
        Some(evidence.pre_norm),
    );
    let bias = said.patch_bias.clone();
    let bias = c.take("bias of the patches", ("", None), bias, None);
    Some(
        VitConfig::new(image_size, patch, width, layers, heads?)
            .with_activation(act?)
            .with_positions(positions?)
            .with_pool(pool?)
            .with_patch_bias(bias?)
            .with_pre_norm(pre_norm?)
            .with_d_hidden(unusual_hidden(hidden, width))
            .with_norm_eps(unusual_eps(eps?)),
    )
}

/// Chooses the settings of the text encoder; `None` if one is missing.
fn text_encoder(
    c: &mut Choices,
    said: &StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> Option<TextConfig> {
    let m = evidence.measured;
    let t = said.text.clone();
    let vocab = c.size("token ids", said.vocab.clone(), m.vocab);
    let context = c.size("longest text", said.context.clone(), m.context);
    let width = c.size("width of the text tower", t.width, m.text_width);
    let layers = c.size("layers of the text tower", t.layers, m.text_layers);
    let given = ("--text-heads", flags.text_heads);
    let heads = c.take("heads of the text tower", given, t.heads, None);
    let hidden = c.size("feed-forward of the text tower", t.hidden, m.text_hidden);
    let act = ("--activation", flags.activation.map(ActivationName::value));
    let act = c.take("activation of the text tower", act, t.activation, None);
    let eps = c.take(
        "norm epsilon of the text tower",
        ("", None),
        t.norm_eps,
        None,
    );
    Some(
        TextConfig::new(vocab, context, width, layers, heads?)
            .with_activation(act?)
            .with_d_hidden(unusual_hidden(hidden, width))
            .with_norm_eps(unusual_eps(eps?)),
    )
}

/// Merges everything into an architecture that can be built.
///
/// # Errors
/// Bad usage that lists every missing choice with its flag, or
/// [`espalier_core::CoreError::Config`] for an architecture that cannot be built.
pub fn resolve(
    said: StatedConfig,
    evidence: &Evidence<'_>,
    flags: &Flags,
) -> anyhow::Result<Resolved> {
    let m = evidence.measured;
    let mut c = Choices::default();
    let image_size = c.size("side of the picture", said.image_size.clone(), m.image_size);
    let patch = c.size("side of a patch", said.patch.clone(), m.patch);
    let vision = image_encoder(&mut c, (image_size, patch), &said, evidence, flags);
    let text = text_encoder(&mut c, &said, evidence, flags);
    let embed = c.size("width of the embeddings", said.embed, m.embed);
    let (mean, std, resize) = preprocess(&mut c, flags, &said.pixels, evidence, image_size)?;
    let (Some(vision), Some(text), true) = (vision, text, c.asked.is_empty()) else {
        return Err(asked(evidence.layout, &c.asked));
    };
    let config = DualConfig::new(vision, text, embed)
        .with_lift(evidence.lift)
        .with_pixel_mean(mean)
        .with_pixel_std(std);
    config.validate()?;
    Ok(Resolved {
        preprocess: Preprocess {
            size: image_size as u32,
            resize,
        },
        config,
        choices: c.taken,
    })
}
