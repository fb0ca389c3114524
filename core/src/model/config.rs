//! Configuration of a model. Written into every checkpoint and every bundle.

use derive_new::new;
use derive_setters::Setters;
use serde::{Deserialize, Serialize};

use crate::defaults::is_default;
use crate::error::{CoreError, Result};
use crate::geometry::DistanceReduction;
use crate::input::{Tokenizer, TokenizerRules};
use crate::nn::layer_config::stage_parameters;
use crate::nn::{Activation, InvertedConfig, Norms, StageConfig};

/// Kind of the positions of image tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Positions {
    /// Fixed two-dimensional sine-cosine (MERU family).
    Sincos,
    /// Learned (CLIP).
    Learned,
}

/// How an image encoder pools its tokens into one feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pool {
    /// The class token (published models).
    Class,
    /// The mean of the patch tokens, without a class token. A small encoder rises above chance many
    /// steps earlier with it, because the patches reach the feature through the residual path
    /// alone.
    Mean,
    /// The mean of the patch tokens after the last norm. A class token takes part in attention but
    /// not in the mean (open_clip's `avg`).
    PatchMean,
}

impl Pool {
    /// Returns whether there is a class token.
    #[must_use]
    pub const fn has_class(self) -> bool {
        matches!(self, Self::Class | Self::PatchMean)
    }
}

/// Space that features are lifted into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LiftKind {
    /// Unit sphere (CLIP).
    Sphere,
    /// Lorentz model with learned curvature and scales (MERU, HyCoCLIP).
    Lorentz,
    /// Product of Lorentz factors, each with its own curvature and scales (PHyCLIP).
    Product {
        /// Number of factors; divides the width of the embeddings.
        factors: usize,
        /// How the distances of the factors are combined.
        join: DistanceReduction,
    },
}

/// Numbers that the large products of an image encoder multiply on a CPU. Graphics cards and training
/// always take floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arithmetic {
    /// 32-bit floats.
    #[default]
    Float32,
    /// Weights and inputs that are rounded to 8 bits, added up in 32 bits. Several times as fast where
    /// the weights are many.
    Int8,
}

/// Image encoder: a vision transformer (notation 3.1, 3.5), whose tokens may come from convolutions
/// instead of patches. With convolutions it may have no transformer block at all; then it accepts
/// images of any side that is a multiple of `patch`.
#[derive(new, Setters, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[setters(prefix = "with_")]
pub struct VitConfig {
    /// Side of the input image in pixels.
    pub image_size: usize,
    /// Side of a patch in pixels; divides `image_size`, except with inverted residuals. With
    /// convolutions, the distance between tokens in pixels: the product of the strides (for a stem,
    /// 2 to the number of stages).
    pub patch: usize,
    /// Token width; a multiple of 4 and of `n_heads`.
    pub d_model: usize,
    /// Number of transformer blocks; 0 only with a stem or inverted residuals.
    pub n_layers: usize,
    /// Number of attention heads.
    pub n_heads: usize,
    /// Non-linearity.
    #[new(value = "Activation::Gelu")]
    pub activation: Activation,
    /// Kind of positions.
    #[new(value = "Positions::Sincos")]
    pub positions: Positions,
    /// Kind of pooling.
    #[new(value = "Pool::Class")]
    pub pool: Pool,
    /// Whether the patch projection has a bias.
    #[new(value = "true")]
    pub patch_bias: bool,
    /// Whether there is a layer norm before the first block (CLIP).
    #[new(value = "false")]
    pub pre_norm: bool,
    /// Width of the feed-forward layers; `4 d_model` if absent.
    #[new(default)]
    pub d_hidden: Option<usize>,
    /// `eps` of the layer norms; 1e-5 if absent (notation trap 26).
    #[new(default)]
    pub norm_eps: Option<f64>,
    /// Stages of convolutions instead of the patch projection, the last of width `d_model`.
    #[new(default)]
    pub stem: Option<Vec<StageConfig>>,
    /// Inverted residuals instead of patches, stem and transformer, with a last convolution to
    /// `d_model` channels. The feature is the mean over positions, without a layer norm. Images may
    /// have any size.
    #[new(default)]
    pub inverted: Option<InvertedConfig>,
    /// Numbers that are multiplied on a CPU; a bundle has those that its export chose.
    #[new(default)]
    #[serde(default, skip_serializing_if = "is_default")]
    pub arithmetic: Arithmetic,
}

impl VitConfig {
    /// Returns the width of the feed-forward layers.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.d_hidden.unwrap_or(self.d_model.saturating_mul(4))
    }

    /// Returns the number of patches of an image, or of positions of the last feature map where the
    /// tokens come from convolutions.
    #[must_use]
    pub fn patches(&self) -> usize {
        self.image_size.div_ceil(self.patch).pow(2)
    }

    /// Returns whether tokens get positions: convolutions without a transformer need none.
    #[must_use]
    pub fn has_positions(&self) -> bool {
        self.n_layers > 0
    }

    /// Returns whether there is a layer norm after the last block: inverted residuals have their
    /// own norms and need none.
    #[must_use]
    pub fn has_last_norm(&self) -> bool {
        self.inverted.is_none()
    }

    /// Returns the configuration of the encoder after its batch norms are folded into convolutions;
    /// see [`VisionBackbone::folded`](super::VisionBackbone::folded).
    #[must_use]
    pub fn folded(&self) -> Self {
        let mut folded = self.clone();
        if let Some(inverted) = &mut folded.inverted {
            inverted.norms = Norms::Folded;
        }
        folded
    }
}

/// Family of a text transformer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextFamily {
    /// CLIP: byte pairs, causal attention, norms before the layers; the feature is that of the end
    /// token.
    #[default]
    Clip,
    /// Encoders of sentences such as all-MiniLM-L6-v2 (Reimers and Gurevych 2019, "Sentence-BERT"):
    /// word pieces, attention in both directions, norms after the layers; the feature is the mean of
    /// all tokens, scaled to a root mean square of 1.
    Bert,
}

/// Text transformer (notation 3.2, 3.5).
#[derive(new, Setters, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[setters(prefix = "with_")]
pub struct TextConfig {
    /// Number of token ids; of CLIP the last two are the start and the end token.
    pub vocab_size: usize,
    /// Longest text in tokens, start and end included.
    pub context: usize,
    /// Token width; a multiple of `n_heads`.
    pub d_model: usize,
    /// Number of blocks.
    pub n_layers: usize,
    /// Number of attention heads.
    pub n_heads: usize,
    /// Non-linearity.
    #[new(value = "Activation::Gelu")]
    pub activation: Activation,
    /// Width of the feed-forward layers; `4 d_model` if absent.
    #[new(default)]
    pub d_hidden: Option<usize>,
    /// `eps` of the layer norms; 1e-5 if absent.
    #[new(default)]
    pub norm_eps: Option<f64>,
    /// Whose rules cut texts into tokens; CLIP's if absent.
    #[new(default)]
    #[serde(default, skip_serializing_if = "is_default")]
    pub tokenizer: TokenizerRules,
    /// Family; CLIP's if absent.
    #[new(default)]
    #[serde(default, skip_serializing_if = "is_default")]
    pub family: TextFamily,
    /// Hidden width of two layers before the projection whose output is added to their input; none
    /// if absent. Only of BERT's family, whose features need more than a linear map.
    #[new(default)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub d_head: Option<usize>,
}

impl TextConfig {
    /// Builds the tokenizer of this encoder from its merges or its word pieces.
    ///
    /// # Errors
    /// As [`Tokenizer::from_merges`] and [`Tokenizer::from_word_pieces`]; also if there is another
    /// number of word pieces than this encoder has.
    pub fn tokenizer(&self, vocabulary: &str) -> Result<Tokenizer> {
        match self.family {
            TextFamily::Clip => {
                let tokenizer = Tokenizer::from_merges(vocabulary, self.vocab_size)?;
                Ok(tokenizer.with_rules(self.tokenizer))
            }
            TextFamily::Bert => self.word_pieces(vocabulary),
        }
    }

    #[cfg(feature = "burn")]
    fn word_pieces(&self, vocabulary: &str) -> Result<Tokenizer> {
        let tokenizer = Tokenizer::from_word_pieces(vocabulary)?;
        if tokenizer.vocab_size() != self.vocab_size {
            return Err(CoreError::Vocabulary(format!(
                "expected {} word pieces, found {}",
                self.vocab_size,
                tokenizer.vocab_size()
            )));
        }
        Ok(tokenizer)
    }

    #[cfg(not(feature = "burn"))]
    fn word_pieces(&self, _vocabulary: &str) -> Result<Tokenizer> {
        Err(self.needs_burn())
    }

    /// Returns the error where an encoder of BERT's family cannot be computed.
    pub(crate) fn needs_burn(&self) -> CoreError {
        CoreError::Config {
            field: "text.family".to_owned(),
            expected: "clip, the only family that is computed without Burn and that bundles have"
                .to_owned(),
            found: format!("{:?}", self.family).to_lowercase(),
        }
    }

    /// Returns the width of the feed-forward layers.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.d_hidden.unwrap_or(self.d_model.saturating_mul(4))
    }
}

/// An image encoder, a text encoder and their shared space.
#[derive(new, Setters, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[setters(prefix = "with_")]
pub struct DualConfig {
    /// Image encoder.
    pub vision: VitConfig,
    /// Text encoder.
    pub text: TextConfig,
    /// Width of the embeddings.
    pub d_embed: usize,
    /// Space of the embeddings.
    #[new(value = "LiftKind::Lorentz")]
    pub lift: LiftKind,
    /// Whether all images get the same radius: their features are scaled to a root mean square of 1
    /// before the lift. Otherwise an image near the root is the nearest one of too many captions.
    /// Only in the Lorentz model.
    #[new(default)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub equal_image_radii: bool,
    /// Mean that the model subtracts from pixels in `[0, 1]`.
    #[new(value = "[0.485, 0.456, 0.406]")]
    pub pixel_mean: [f32; 3],
    /// Standard deviation that the model divides pixels by.
    #[new(value = "[0.229, 0.224, 0.225]")]
    pub pixel_std: [f32; 3],
}

impl DualConfig {
    /// Returns the number of parameters of both encoders and their projections. Fixed positions
    /// count; the learned scalars and the running statistics of norms do not.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let (v, t) = (&self.vision, &self.text);
        let block = |d: usize, hidden: usize| 4 * d * d + 9 * d + 2 * d * hidden + hidden;
        let tokens = match (&v.inverted, &v.stem) {
            (Some(inverted), _) => inverted.parameters(v.d_model),
            (None, Some(stages)) => stage_parameters(stages),
            (None, None) => v.d_model * (3 * v.patch * v.patch + usize::from(v.patch_bias)),
        };
        let positions = if v.has_positions() { v.patches() } else { 0 };
        let vision = v.n_layers * block(v.d_model, v.hidden())
            + tokens
            + v.d_model * (positions + 2 * usize::from(v.pool.has_class()))
            + 2 * v.d_model * (usize::from(v.has_last_norm()) + usize::from(v.pre_norm));
        let head = |hidden: usize| hidden * (2 * t.d_model + 1) + t.d_model;
        let text = t.n_layers * block(t.d_model, t.hidden())
            + t.d_model * (t.vocab_size + t.context)
            + 2 * t.d_model // a norm, after the blocks or of the embeddings
            + t.d_head.map_or(0, head);
        (vision + text + self.d_embed * (v.d_model + t.d_model)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;

    #[test]
    fn the_small_preset_has_the_published_number_of_parameters() {
        // notation 3.3: 85,290,372 with four scalars.
        assert_eq!(Preset::VitS16_224.config().parameters() + 4, 85_290_372);
    }

    #[test]
    fn a_configuration_from_before_inverted_residuals_is_read() {
        let config = Preset::VitT8_64.config();
        let mut value = serde_json::to_value(&config).unwrap();
        let vision = value["vision"].as_object_mut().unwrap();
        assert!(vision.remove("inverted").is_some());
        let read: DualConfig = serde_json::from_value(value).unwrap();
        assert_eq!(read, config);
    }

    #[test]
    fn only_other_rules_than_clips_are_written() {
        let mut text = Preset::VitT8_64.config().text;
        let value = serde_json::to_value(&text).unwrap();
        assert!(value.get("tokenizer").is_none());
        text.tokenizer = TokenizerRules::Transformers;
        let value = serde_json::to_value(&text).unwrap();
        assert_eq!(value["tokenizer"], "transformers");
        assert_eq!(serde_json::from_value::<TextConfig>(value).unwrap(), text);
    }
}
