//! What is said of an architecture, and by whom.

use espalier_core::input::ResizeMode;
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated<T> {
    /// The value.
    pub value: T,
    /// A key of a file, a family of models, a flag.
    pub by: String,
}

/// A value that may be said.
pub type Maybe<T> = Option<Stated<T>>;

/// A value said by something.
pub fn stated<T>(value: T, by: impl Into<String>) -> Maybe<T> {
    Some(Stated {
        value,
        by: by.into(),
    })
}

/// What is said of one tower.
#[derive(Clone, Debug, Default)]
pub struct Tower {
    /// Width of its tokens.
    pub width: Maybe<usize>,
    /// Blocks.
    pub layers: Maybe<usize>,
    /// Attention heads.
    pub heads: Maybe<usize>,
    /// Width of the feed-forward layers.
    pub hidden: Maybe<usize>,
    /// Non-linearity.
    pub activation: Maybe<Activation>,
    /// `eps` of layer norms.
    pub norm_eps: Maybe<f64>,
}

/// How pictures are made input.
#[derive(Clone, Debug, Default)]
pub struct Pixels {
    /// Mean that is subtracted from pixels in `[0, 1]`.
    pub mean: Maybe<[f32; 3]>,
    /// Standard deviation that they are divided by.
    pub std: Maybe<[f32; 3]>,
    /// How a picture becomes a square.
    pub resize: Maybe<ResizeMode>,
    /// Side of that square.
    pub size: Maybe<usize>,
}

/// Everything that is said of a model.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Picture tower.
    pub vision: Tower,
    /// Text tower.
    pub text: Tower,
    /// Side of the picture in pixels.
    pub image_size: Maybe<usize>,
    /// Side of a patch in pixels.
    pub patch: Maybe<usize>,
    /// Token ids.
    pub vocab: Maybe<usize>,
    /// Longest text in tokens.
    pub context: Maybe<usize>,
    /// Width of the embeddings.
    pub embed: Maybe<usize>,
    /// What the picture tower gives.
    pub pool: Maybe<Pool>,
    /// Where picture positions come from.
    pub positions: Maybe<Positions>,
    /// Whether a norm stands before the first block.
    pub pre_norm: Maybe<bool>,
    /// Whether the patch projection has a bias.
    pub patch_bias: Maybe<bool>,
    /// Preprocessing.
    pub pixels: Pixels,
}
