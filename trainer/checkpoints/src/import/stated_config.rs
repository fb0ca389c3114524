//! Stated settings of an architecture and their origins.

use espalier_core::input::{CropOffset, Resampling, ResizeMode, TokenizerRules};
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;

/// A value and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated<T> {
    /// The value.
    pub value: T,
    /// Origin: a key of a file, a model family, or a flag.
    pub by: String,
}

/// A value that may be stated.
pub type MaybeStated<T> = Option<Stated<T>>;

/// Returns a value with its origin.
pub fn stated<T>(value: T, by: impl Into<String>) -> MaybeStated<T> {
    Some(Stated {
        value,
        by: by.into(),
    })
}

/// Stated settings of one encoder.
#[derive(Clone, Debug, Default)]
pub struct EncoderConfig {
    /// Width of the tokens.
    pub width: MaybeStated<usize>,
    /// Number of blocks.
    pub layers: MaybeStated<usize>,
    /// Number of attention heads.
    pub heads: MaybeStated<usize>,
    /// Width of the feed-forward layers.
    pub hidden: MaybeStated<usize>,
    /// Non-linearity.
    pub activation: MaybeStated<Activation>,
    /// `eps` of layer norms.
    pub norm_eps: MaybeStated<f64>,
}

/// Preprocessing of images.
#[derive(Clone, Debug, Default)]
pub struct Pixels {
    /// Mean that is subtracted from pixels in `[0, 1]`.
    pub mean: MaybeStated<[f32; 3]>,
    /// Standard deviation that they are divided by.
    pub std: MaybeStated<[f32; 3]>,
    /// How an image is resized to a square.
    pub resize: MaybeStated<ResizeMode>,
    /// Side of that square in pixels.
    pub size: MaybeStated<usize>,
    /// Arithmetic of resizing.
    pub resampling: MaybeStated<Resampling>,
    /// Where a centre crop begins.
    pub crop_offset: MaybeStated<CropOffset>,
}

/// All stated settings of a model.
#[derive(Clone, Debug, Default)]
pub struct StatedConfig {
    /// Image encoder.
    pub vision: EncoderConfig,
    /// Text encoder.
    pub text: EncoderConfig,
    /// Side of the input image in pixels.
    pub image_size: MaybeStated<usize>,
    /// Side of a patch in pixels.
    pub patch: MaybeStated<usize>,
    /// Number of token ids.
    pub vocab: MaybeStated<usize>,
    /// Context length in tokens.
    pub context: MaybeStated<usize>,
    /// Width of the embeddings.
    pub embed: MaybeStated<usize>,
    /// Pooling of the image encoder.
    pub pool: MaybeStated<Pool>,
    /// Kind of the positional embedding of the image encoder.
    pub positions: MaybeStated<Positions>,
    /// Whether there is a norm before the first block.
    pub pre_norm: MaybeStated<bool>,
    /// Whether the patch projection has a bias.
    pub patch_bias: MaybeStated<bool>,
    /// Rules of the tokenizer.
    pub tokenizer: MaybeStated<TokenizerRules>,
    /// Preprocessing.
    pub pixels: Pixels,
}
