//! Known settings of model families. Files of the MERU family hold only weights (notation 3.1, 3.2,
//! traps 24 to 26), so the number of heads follows from the published widths; for any other width
//! the user must state it.

use espalier_core::input::{Resampling, ResizeMode, TokenizerRules};
use espalier_core::model::{Pool, Positions};
use espalier_core::nn::Activation;

use super::stated_config::{EncoderConfig, Pixels, StatedConfig, stated};
use crate::layout::Measured;

/// Widths and numbers of heads of the published image encoders; the small one has 12 heads, not 6
/// (trap 24).
const HEADS: [(usize, usize); 3] = [(384, 12), (768, 12), (1024, 16)];
/// Width of an attention head of the text encoder.
const TEXT_HEAD: usize = 64;

/// Returns the known settings of a file of the MERU family.
pub fn meru(measured: &Measured) -> StatedConfig {
    let by = "the MERU family";
    let encoder = |heads: Option<usize>| EncoderConfig {
        heads: heads.and_then(|n| stated(n, by)),
        activation: stated(Activation::Gelu, by),
        norm_eps: stated(1e-5, by),
        ..EncoderConfig::default()
    };
    let published = HEADS
        .iter()
        .find(|(w, _)| Some(*w) == measured.vision_width);
    let text = measured.text_width.filter(|w| w.is_multiple_of(TEXT_HEAD));
    StatedConfig {
        vision: encoder(published.map(|(_, heads)| *heads)),
        text: encoder(text.map(|w| w / TEXT_HEAD)),
        pool: stated(Pool::Class, by),
        positions: stated(Positions::Sincos, by),
        pre_norm: stated(false, by),
        patch_bias: stated(true, by),
        pixels: Pixels {
            // Mean and standard deviation are tensors of the file.
            resize: stated(ResizeMode::CentreCrop, by),
            resampling: stated(Resampling::PillowBicubic, by),
            ..Pixels::default()
        },
        tokenizer: stated(TokenizerRules::Clip, by),
        ..StatedConfig::default()
    }
}

/// Returns the settings that all files in one of CLIP's layouts share, whatever their sidecar files
/// state.
pub fn clip(by: &str, tokenizer: TokenizerRules) -> StatedConfig {
    let encoder = || EncoderConfig {
        norm_eps: stated(1e-5, by),
        ..EncoderConfig::default()
    };
    StatedConfig {
        vision: encoder(),
        text: encoder(),
        pool: stated(Pool::Class, by),
        positions: stated(Positions::Learned, by),
        patch_bias: stated(false, by),
        tokenizer: stated(tokenizer, by),
        ..StatedConfig::default()
    }
}
