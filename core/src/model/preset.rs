//! Named architectures, shared by the command line and the page.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::config::{DualConfig, Pool, Positions, TextConfig, VitConfig};
use crate::error::CoreError;
use crate::nn::{Activation, InvertedConfig};

/// Width of EfficientNet-Lite's feature.
const EFFICIENTNET_HEAD: usize = 1280;

/// A named architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// 64 px, patch 8: small enough for the page and for training on a CPU.
    VitT8_64,
    /// EfficientNet-Lite0 at 224 px, with a small text encoder.
    EfficientnetLite0,
    /// EfficientNet-Lite1 at 240 px, with a small text encoder.
    EfficientnetLite1,
    /// EfficientNet-Lite2 at 260 px, with a small text encoder.
    EfficientnetLite2,
    /// MERU family, small (12 heads: notation trap 24).
    VitS16_224,
    /// MERU family, base.
    VitB16_224,
    /// MERU family, large.
    VitL16_224,
    /// OpenAI CLIP ViT-B/32.
    ClipVitB32,
    /// OpenAI CLIP ViT-B/16.
    ClipVitB16,
    /// OpenAI CLIP ViT-L/14.
    ClipVitL14,
}

impl Preset {
    /// All presets, smallest first.
    pub const ALL: [Self; 10] = [
        Self::VitT8_64,
        Self::EfficientnetLite0,
        Self::EfficientnetLite1,
        Self::EfficientnetLite2,
        Self::VitS16_224,
        Self::VitB16_224,
        Self::VitL16_224,
        Self::ClipVitB32,
        Self::ClipVitB16,
        Self::ClipVitL14,
    ];

    /// Returns the name used on the command line and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::VitT8_64 => "vit_t8_64",
            Self::EfficientnetLite0 => "efficientnet_lite0",
            Self::EfficientnetLite1 => "efficientnet_lite1",
            Self::EfficientnetLite2 => "efficientnet_lite2",
            Self::VitS16_224 => "vit_s16_224",
            Self::VitB16_224 => "vit_b16_224",
            Self::VitL16_224 => "vit_l16_224",
            Self::ClipVitB32 => "clip_vit_b32",
            Self::ClipVitB16 => "clip_vit_b16",
            Self::ClipVitL14 => "clip_vit_l14",
        }
    }

    /// Returns the first preset with this image encoder, whatever its text encoder. A bundle has its norms
    /// folded into the convolutions, which are the same encoder.
    #[must_use]
    pub fn of_image_encoder(vision: &VitConfig) -> Option<Self> {
        let has = |preset: &Self| {
            let mut known = preset.config().vision;
            if let (Some(known), Some(found)) = (&mut known.inverted, &vision.inverted) {
                known.norms = found.norms;
            }
            known == *vision
        };
        Self::ALL.into_iter().find(has)
    }

    /// Returns the architecture.
    #[must_use]
    pub fn config(self) -> DualConfig {
        match self {
            // The context is short and the vocabulary has only the first 7,678 merges; otherwise a
            // CPU would spend most of a step on the text encoder.
            Self::VitT8_64 => DualConfig::new(
                VitConfig::new(64, 8, 192, 8, 6).with_pool(Pool::Mean),
                TextConfig::new(8192, 32, 192, 3, 6),
                128,
            ),
            Self::EfficientnetLite0 => efficientnet_lite(224, 1.0, 1.0),
            Self::EfficientnetLite1 => efficientnet_lite(240, 1.0, 1.1),
            Self::EfficientnetLite2 => efficientnet_lite(260, 1.1, 1.2),
            Self::VitS16_224 => meru(384, 12, 12),
            Self::VitB16_224 => meru(768, 12, 12),
            Self::VitL16_224 => meru(1024, 24, 16),
            Self::ClipVitB32 => clip(32, (768, 12, 12), (512, 8)),
            Self::ClipVitB16 => clip(16, (768, 12, 12), (512, 8)),
            Self::ClipVitL14 => clip(14, (1024, 24, 16), (768, 12)),
        }
    }
}

/// Returns the published image encoder of a given size, width and depth, with a small text encoder.
fn efficientnet_lite(image_size: usize, width: f64, depth: f64) -> DualConfig {
    let inverted = InvertedConfig::efficientnet_lite(width, depth);
    let vision = VitConfig::new(image_size, inverted.stride(), EFFICIENTNET_HEAD, 0, 1)
        .with_pool(Pool::Mean)
        .with_inverted(Some(inverted));
    // The published encoder normalises pixels as (v - 127) / 128 for v in 0..255.
    // The text encoder is as wide as the embedding; a narrower one would reach only a part of the
    // space. One block is enough for names and short captions, and keeps the download of the page
    // small. The width 384 is a compromise: projecting the rows of the pretrained classifier to 256
    // directions would cost five points of its accuracy, to 384 less than three.
    let text = TextConfig::new(8192, 32, 384, 1, 6).with_d_hidden(Some(1024));
    DualConfig::new(vision, text, 384)
        .with_pixel_mean([127.0 / 255.0; 3])
        .with_pixel_std([128.0 / 255.0; 3])
}

fn meru(d_model: usize, n_layers: usize, n_heads: usize) -> DualConfig {
    DualConfig::new(
        VitConfig::new(224, 16, d_model, n_layers, n_heads),
        TextConfig::new(49408, 77, 512, 12, 8),
        512,
    )
}

#[expect(clippy::excessive_precision, reason = "as published")]
fn clip(patch: usize, vision: (usize, usize, usize), text: (usize, usize)) -> DualConfig {
    let (d_model, n_layers, n_heads) = vision;
    DualConfig::new(
        VitConfig::new(224, patch, d_model, n_layers, n_heads)
            .with_activation(Activation::QuickGelu)
            .with_positions(Positions::Learned)
            .with_patch_bias(false)
            .with_pre_norm(true),
        TextConfig::new(49408, 77, text.0, 12, text.1).with_activation(Activation::QuickGelu),
        text.0,
    )
    .with_pixel_mean([0.481_454_66, 0.457_827_5, 0.408_210_73])
    .with_pixel_std([0.268_629_54, 0.261_302_58, 0.275_777_11])
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = CoreError;

    fn from_str(name: &str) -> Result<Self, CoreError> {
        Self::ALL
            .into_iter()
            .find(|p| p.name() == name)
            .ok_or_else(|| CoreError::Config {
                field: "model".into(),
                expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
                found: name.into(),
            })
    }
}
