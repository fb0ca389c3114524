//! Settings of a source that the user states on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use espalier_core::input::{Resampling, ResizeMode, TokenizerRules};
use espalier_core::nn::Activation;
use espalier_io::exit::usage;

/// Non-linearities by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ActivationName {
    /// Exact GELU.
    Gelu,
    /// Approximation used by OpenAI's weights.
    QuickGelu,
}

/// How an image is resized to a square, in open_clip's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResizeName {
    /// Resize the shortest side, then crop the centre.
    Shortest,
    /// Resize both sides without keeping the aspect ratio.
    Squash,
    /// Resize the longest side and centre the image on white.
    Pad,
}

/// Arithmetic of resizing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResamplingName {
    /// Bicubic, as torchvision resizes tensors of bytes.
    Bicubic,
    /// Pillow's bicubic, to the bit.
    PillowBicubic,
    /// Pillow's bilinear, to the bit.
    PillowBilinear,
}

/// The program whose treatment of texts the model was trained with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TokenizerName {
    /// OpenAI's code; the MERU family.
    Clip,
    /// open_clip.
    OpenClip,
    /// transformers.
    Transformers,
}

/// Settings that a source may not state; they override the files of the source.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings that a source may not state")]
pub struct Flags {
    /// Number of attention heads of the image encoder.
    #[arg(long, value_name = "N")]
    pub heads: Option<usize>,
    /// Number of attention heads of the text encoder.
    #[arg(long, value_name = "N")]
    pub text_heads: Option<usize>,
    /// Non-linearity of both encoders.
    #[arg(long, value_enum)]
    pub activation: Option<ActivationName>,
    /// Preprocessing: `openai` or `imagenet` for their pixel statistics, or a
    /// preprocessor_config.json.
    #[arg(long, value_name = "NAME|FILE")]
    pub preprocess: Option<PathBuf>,
    /// Mean that is subtracted from pixels in [0, 1].
    #[arg(long, value_name = "R,G,B", value_delimiter = ',', num_args = 1)]
    pub image_mean: Option<Vec<f32>>,
    /// Standard deviation that pixels are divided by.
    #[arg(long, value_name = "R,G,B", value_delimiter = ',', num_args = 1)]
    pub image_std: Option<Vec<f32>>,
    /// How an image is resized to a square.
    #[arg(long, value_enum)]
    pub image_resize_mode: Option<ResizeName>,
    /// Arithmetic of resizing; default: that of the program which the files name.
    #[arg(long, value_enum)]
    pub image_resampling: Option<ResamplingName>,
    /// Whose rules clean texts and read markers in them; default: those of the program which the
    /// files name.
    #[arg(long, value_enum)]
    pub tokenizer: Option<TokenizerName>,
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

impl ResamplingName {
    pub(super) fn value(self) -> Resampling {
        match self {
            Self::Bicubic => Resampling::Bicubic,
            Self::PillowBicubic => Resampling::PillowBicubic,
            Self::PillowBilinear => Resampling::PillowBilinear,
        }
    }
}

impl TokenizerName {
    pub(super) fn value(self) -> TokenizerRules {
        match self {
            Self::Clip => TokenizerRules::Clip,
            Self::OpenClip => TokenizerRules::OpenClip,
            Self::Transformers => TokenizerRules::Transformers,
        }
    }
}

/// Returns the three numbers of a flag; refuses any other count.
pub(super) fn triple(flag: &str, given: Option<&Vec<f32>>) -> anyhow::Result<Option<[f32; 3]>> {
    given
        .map(|numbers| {
            <[f32; 3]>::try_from(numbers.as_slice()).map_err(|_| {
                usage(format!(
                    "{flag}: expected three numbers R,G,B, found {}",
                    numbers.len()
                ))
            })
        })
        .transpose()
}
