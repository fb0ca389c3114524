//! Stated settings of an architecture and their origins.

use espalier_core::input::ResizeMode;
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
pub type Maybe<T> = Option<Stated<T>>;

/// Returns a value with its origin.
pub fn stated<T>(value: T, by: impl Into<String>) -> Maybe<T> {
    Some(Stated {
        value,
        by: by.into(),
    })
}

/// Stated settings of one encoder.
#[derive(Clone, Debug, Default)]
pub struct Tower {
    /// Width of the tokens.
    pub width: Maybe<usize>,
    /// Number of blocks.
    pub layers: Maybe<usize>,
    /// Number of attention heads.
    pub heads: Maybe<usize>,
    /// Width of the feed-forward layers.
    pub hidden: Maybe<usize>,
    /// Non-linearity.
    pub activation: Maybe<Activation>,
    /// `eps` of layer norms.
    pub norm_eps: Maybe<f64>,
}

/// Preprocessing of images.
#[derive(Clone, Debug, Default)]
pub struct Pixels {
    /// Mean that is subtracted from pixels in `[0, 1]`.
    pub mean: Maybe<[f32; 3]>,
    /// Standard deviation that they are divided by.
    pub std: Maybe<[f32; 3]>,
    /// How an image is resized to a square.
    pub resize: Maybe<ResizeMode>,
    /// Side of that square in pixels.
    pub size: Maybe<usize>,
}

/// All stated settings of a model.
#[derive(Clone, Debug, Default)]
pub struct StatedConfig {
    /// Image encoder.
    pub vision: Tower,
    /// Text encoder.
    pub text: Tower,
    /// Side of the input image in pixels.
    pub image_size: Maybe<usize>,
    /// Side of a patch in pixels.
    pub patch: Maybe<usize>,
    /// Number of token ids.
    pub vocab: Maybe<usize>,
    /// Context length in tokens.
    pub context: Maybe<usize>,
    /// Width of the embeddings.
    pub embed: Maybe<usize>,
    /// Pooling of the image encoder.
    pub pool: Maybe<Pool>,
    /// Kind of the positional embedding of the image encoder.
    pub positions: Maybe<Positions>,
    /// Whether there is a norm before the first block.
    pub pre_norm: Maybe<bool>,
    /// Whether the patch projection has a bias.
    pub patch_bias: Maybe<bool>,
    /// Preprocessing.
    pub pixels: Pixels,
}
