//! What the user says of a source on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use espalier_core::input::ResizeMode;
use espalier_core::nn::Activation;

use crate::exit::usage;

/// Non-linearities by the names of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ActivationName {
    /// Exact.
    Gelu,
    /// Of OpenAI's weights.
    QuickGelu,
}

/// Ways to a square, in open_clip's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResizeName {
    /// Shortest side, then the centre.
    Shortest,
    /// Both sides, shape lost.
    Squash,
    /// Longest side, centred on white.
    Pad,
}

/// What the user says where a file does not; what is said here wins over the file.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What a source may leave unsaid")]
pub struct Flags {
    /// Attention heads of the picture tower.
    #[arg(long, value_name = "N")]
    pub heads: Option<usize>,
    /// Attention heads of the text tower.
    #[arg(long, value_name = "N")]
    pub text_heads: Option<usize>,
    /// Non-linearity of both towers.
    #[arg(long, value_enum)]
    pub activation: Option<ActivationName>,
    /// Pixel statistics by name, `openai` or `imagenet`, or a preprocessor_config.json.
    #[arg(long, value_name = "NAME|FILE")]
    pub preprocess: Option<PathBuf>,
    /// Mean that is subtracted from pixels in [0, 1].
    #[arg(long, value_name = "R,G,B", value_delimiter = ',', num_args = 1)]
    pub image_mean: Option<Vec<f32>>,
    /// Standard deviation that pixels are divided by.
    #[arg(long, value_name = "R,G,B", value_delimiter = ',', num_args = 1)]
    pub image_std: Option<Vec<f32>>,
    /// How a picture becomes a square.
    #[arg(long, value_enum)]
    pub image_resize_mode: Option<ResizeName>,
}

impl ActivationName {
    pub(super) fn value(self) -> Activation {
        match self {
            Self::Gelu => Activation::Gelu,
            Self::QuickGelu => Activation::QuickGelu,
        }
    }
}

impl ResizeName {
    pub(super) fn value(self) -> ResizeMode {
        match self {
            Self::Shortest => ResizeMode::CentreCrop,
            Self::Squash => ResizeMode::Squeeze,
            Self::Pad => ResizeMode::WhitePad,
        }
    }
}

/// Three numbers of a flag.
///
/// # Errors
/// Bad usage for another count.
pub(super) fn triple(flag: &str, given: Option<&Vec<f32>>) -> anyhow::Result<Option<[f32; 3]>> {
    given
        .map(|numbers| {
            <[f32; 3]>::try_from(numbers.as_slice()).map_err(|_| {
                usage(format!(
                    "{flag}: wanted three numbers R,G,B, found {}",
                    numbers.len()
                ))
            })
        })
        .transpose()
}
