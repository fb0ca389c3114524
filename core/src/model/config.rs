//! Configuration of a model. Written into every checkpoint and every bundle.

use burn::config::Config;

use crate::error::{CoreError, Result};
use crate::geometry::DistanceReduction;
use crate::nn::block::LAYER_NORM_EPS;
use crate::nn::{Activation, InvertedConfig, Norms, StageConfig, conv_stem};

/// Kind of the positions of image tokens.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
pub enum Positions {
    /// Fixed two-dimensional sine-cosine (MERU family).
    Sincos,
    /// Learned (CLIP).
    Learned,
}

/// How an image encoder pools its tokens into one feature.
#[derive(Config, Debug, Copy, PartialEq, Eq)]
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
#[derive(Config, Debug, Copy, PartialEq, Eq)]
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

impl LiftKind {
    /// Returns the published product: factors of eight coordinates, distances combined by the mean.
    #[must_use]
    pub const fn product_of_eights(d_embed: usize) -> Self {
        Self::Product {
            factors: d_embed / 8,
            join: DistanceReduction::L1,
        }
    }
}

/// Image encoder: a vision transformer (notation 3.1, 3.5), whose tokens may come from convolutions
/// instead of patches. With convolutions it may have no transformer block at all; then it accepts
/// images of any side that is a multiple of `patch`.
#[derive(Config, Debug, PartialEq)]
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
    #[config(default = "Activation::Gelu")]
    pub activation: Activation,
    /// Kind of positions.
    #[config(default = "Positions::Sincos")]
    pub positions: Positions,
    /// Kind of pooling.
    #[config(default = "Pool::Class")]
    pub pool: Pool,
    /// Whether the patch projection has a bias.
    #[config(default = true)]
    pub patch_bias: bool,
    /// Whether there is a layer norm before the first block (CLIP).
    #[config(default = false)]
    pub pre_norm: bool,
    /// Width of the feed-forward layers; `4 d_model` if absent.
    pub d_hidden: Option<usize>,
    /// `eps` of the layer norms; 1e-5 if absent (notation trap 26).
    pub norm_eps: Option<f64>,
    /// Stages of convolutions instead of the patch projection, the last of width `d_model`.
    pub stem: Option<Vec<StageConfig>>,
    /// Inverted residuals instead of patches, stem and transformer, with a last convolution to
    /// `d_model` channels. The feature is the mean over positions, without a layer norm. Images may
    /// have any size.
    pub inverted: Option<InvertedConfig>,
}

impl VitConfig {
    /// Returns the width of the feed-forward layers.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.d_hidden.unwrap_or(self.d_model.saturating_mul(4))
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
    /// see [`VisionTower::folded`](super::VisionTower::folded).
    #[must_use]
    pub fn folded(&self) -> Self {
        let mut folded = self.clone();
        if let Some(inverted) = &mut folded.inverted {
            inverted.norms = Norms::Folded;
        }
        folded
    }

    /// Checks an encoder of inverted residuals.
    fn validate_inverted(&self, inverted: &InvertedConfig) -> Result<()> {
        require(
            self.stem.is_none(),
            "vision.stem",
            "absent with inverted residuals",
            "one",
        )?;
        require(
            self.n_layers == 0,
            "vision.n_layers",
            "0 with inverted residuals",
            self.n_layers,
        )?;
        require(
            self.pool == Pool::Mean,
            "vision.pool",
            "Mean with inverted residuals",
            format!("{:?}", self.pool),
        )?;
        require(
            !self.pre_norm,
            "vision.pre_norm",
            "false with inverted residuals",
            self.pre_norm,
        )?;
        let most_blocks = 1 << 10;
        require(
            !inverted.stages.is_empty() && inverted.stages.len() <= most_blocks,
            "vision.inverted.stages",
            "between 1 and 1024 stages",
            inverted.stages.len(),
        )?;
        let within = |field: &str, value: usize, most: usize| {
            let expected = format!("between 1 and {most}");
            let field = format!("vision.inverted.{field}");
            require((1..=most).contains(&value), &field, &expected, value)
        };
        within("stem_width", inverted.stem_width, 1 << 14)?;
        for stage in &inverted.stages {
            within("width", stage.width, 1 << 14)?;
            within("expand", stage.expand, 64)?;
            within("stride", stage.stride, 2)?;
            within("blocks", stage.blocks, most_blocks)?;
            require(
                stage.kernel % 2 == 1 && stage.kernel <= 15,
                "vision.inverted.kernel",
                "odd and at most 15",
                stage.kernel,
            )?;
        }
        require(
            inverted.stride() == self.patch,
            "vision.patch",
            &format!("the product of all strides, {}", inverted.stride()),
            self.patch,
        )?;
        let (eps, momentum) = (inverted.norm_eps, inverted.norm_momentum);
        require(
            eps > 0.0 && eps < 1.0,
            "vision.inverted.norm_eps",
            "in (0, 1)",
            eps,
        )?;
        require(
            (0.0..=1.0).contains(&momentum),
            "vision.inverted.norm_momentum",
            "in [0, 1]",
            momentum,
        )
    }

    /// Checks the source of the tokens, and that there are transformer blocks where they are
    /// needed.
    fn validate_tokens(&self) -> Result<()> {
        if let Some(inverted) = &self.inverted {
            return self.validate_inverted(inverted);
        }
        require(
            self.image_size.is_multiple_of(self.patch),
            "vision.image_size",
            &format!("a multiple of the patch side {}", self.patch),
            self.image_size,
        )?;
        let Some(stages) = &self.stem else {
            return require(
                self.n_layers > 0 && self.n_layers <= 1 << 16,
                "vision.n_layers",
                "between 1 and 65536, or 0 with a stem",
                self.n_layers,
            );
        };
        let strides = 1_usize.checked_shl(stages.len() as u32).unwrap_or(0);
        require(
            !stages.is_empty() && strides == self.patch,
            "vision.patch",
            &format!("2 to the number of stages of the stem, {}", stages.len()),
            self.patch,
        )?;
        for stage in stages {
            require(
                stage.width > 0 && stage.width <= 1 << 16,
                "vision.stem.width",
                "between 1 and 65536",
                stage.width,
            )?;
            require(
                stage.blocks <= 1 << 10,
                "vision.stem.blocks",
                "at most 1024",
                stage.blocks,
            )?;
        }
        let last = stages.last().map_or(0, |stage| stage.width);
        require(
            last == self.d_model,
            "vision.stem",
            &format!("a last stage as wide as the tokens, {}", self.d_model),
            last,
        )?;
        require(
            self.n_layers > 0 || self.pool == Pool::Mean,
            "vision.pool",
            "Mean without transformer blocks",
            format!("{:?}", self.pool),
        )
    }
}

/// Causal text transformer (notation 3.2, 3.5).
#[derive(Config, Debug, PartialEq)]
pub struct TextConfig {
    /// Number of token ids; the last two are the start and the end token.
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
    #[config(default = "Activation::Gelu")]
    pub activation: Activation,
    /// Width of the feed-forward layers; `4 d_model` if absent.
    pub d_hidden: Option<usize>,
    /// `eps` of the layer norms; 1e-5 if absent.
    pub norm_eps: Option<f64>,
}

impl TextConfig {
    /// Returns the width of the feed-forward layers.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.d_hidden.unwrap_or(self.d_model.saturating_mul(4))
    }
}

/// An image encoder, a text encoder and their shared space.
#[derive(Config, Debug, PartialEq)]
pub struct DualConfig {
    /// Image encoder.
    pub vision: VitConfig,
    /// Text encoder.
    pub text: TextConfig,
    /// Width of the embeddings.
    pub d_embed: usize,
    /// Space of the embeddings.
    #[config(default = "LiftKind::Lorentz")]
    pub lift: LiftKind,
    /// Mean that the model subtracts from pixels in `[0, 1]`.
    #[config(default = "[0.485, 0.456, 0.406]")]
    pub pixel_mean: [f32; 3],
    /// Standard deviation that the model divides pixels by.
    #[config(default = "[0.229, 0.224, 0.225]")]
    pub pixel_std: [f32; 3],
}

fn require(ok: bool, field: &str, expected: &str, found: impl std::fmt::Display) -> Result<()> {
    if ok {
        return Ok(());
    }
    Err(CoreError::Config {
        field: field.into(),
        expected: expected.into(),
        found: found.to_string(),
    })
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
            (None, Some(stages)) => conv_stem::parameters(stages),
            (None, None) => v.d_model * (3 * v.patch * v.patch + usize::from(v.patch_bias)),
        };
        let positions = if v.has_positions() { v.patches() } else { 0 };
        let vision = v.n_layers * block(v.d_model, v.hidden())
            + tokens
            + v.d_model * (positions + 2 * usize::from(v.pool.has_class()))
            + 2 * v.d_model * (usize::from(v.has_last_norm()) + usize::from(v.pre_norm));
        let text = t.n_layers * block(t.d_model, t.hidden())
            + t.d_model * (t.vocab_size + t.context)
            + 2 * t.d_model;
        (vision + text + self.d_embed * (v.d_model + t.d_model)) as u64
    }

    /// Checks everything that building the model relies on.
    ///
    /// # Errors
    /// [`CoreError::Config`] naming the first invalid field.
    pub fn validate(&self) -> Result<()> {
        let (v, t) = (&self.vision, &self.text);
        let positive = [
            ("vision.image_size", v.image_size),
            ("vision.patch", v.patch),
            ("vision.n_heads", v.n_heads),
            ("text.n_layers", t.n_layers),
            ("text.n_heads", t.n_heads),
            ("d_embed", self.d_embed),
            ("vision.d_hidden", v.hidden()),
            ("text.d_hidden", t.hidden()),
        ];
        for (field, value) in positive {
            require(
                value > 0 && value <= 1 << 16,
                field,
                "between 1 and 65536",
                value,
            )?;
        }
        v.validate_tokens()?;
        for (field, width, heads) in [
            ("vision.d_model", v.d_model, v.n_heads),
            ("text.d_model", t.d_model, t.n_heads),
        ] {
            require(
                width > 0
                    && width <= 1 << 16
                    && width.is_multiple_of(heads)
                    && width.is_multiple_of(4),
                field,
                &format!("a multiple of 4 and of the {heads} heads, at most 65536"),
                width,
            )?;
        }
        require(
            (514..=1 << 24).contains(&t.vocab_size),
            "text.vocab_size",
            "between 514 and 2^24",
            t.vocab_size,
        )?;
        for (field, eps) in [
            ("vision.norm_eps", v.norm_eps),
            ("text.norm_eps", t.norm_eps),
        ] {
            let eps = eps.unwrap_or(LAYER_NORM_EPS);
            require(eps > 0.0 && eps < 1.0, field, "in (0, 1)", eps)?;
        }
        require(
            (3..=1 << 16).contains(&t.context),
            "text.context",
            "between 3 and 65536",
            t.context,
        )?;
        if let LiftKind::Product { factors, .. } = self.lift {
            require(
                factors > 0 && self.d_embed.is_multiple_of(factors),
                "lift.factors",
                &format!("a divisor of the embedding width {}", self.d_embed),
                factors,
            )?;
        }
        require(
            self.pixel_std.iter().all(|s| s.is_finite() && *s > 0.0),
            "pixel_std",
            "three positive numbers",
            format!("{:?}", self.pixel_std),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::Preset;

    #[test]
    fn every_preset_is_valid() {
        for preset in Preset::ALL {
            preset.config().validate().unwrap();
        }
    }

    #[test]
    fn the_small_preset_has_the_published_number_of_parameters() {
        // notation 3.3: 85,290,372 with four scalars.
        assert_eq!(Preset::VitS16_224.config().parameters() + 4, 85_290_372);
    }

    #[test]
    fn a_stem_must_fit_the_tower() {
        let message = |change: fn(&mut VitConfig)| {
            let mut config = Preset::VitT8_64.config();
            let stages = [(32, 0), (64, 1), (192, 1)];
            config.vision.stem = Some(stages.map(|(w, b)| StageConfig::new(w, b)).to_vec());
            config.validate().unwrap();
            change(&mut config.vision);
            config.validate().unwrap_err().to_string()
        };
        for (found, known) in [
            (
                message(|v| v.patch = 16),
                "vision.patch must be 2 to the number of stages of the stem, 3, found 16",
            ),
            (
                message(|v| v.d_model = 96),
                "vision.stem must be a last stage as wide as the tokens, 96, found 192",
            ),
            (
                message(|v| v.stem.as_mut().unwrap()[0].width = 0),
                "vision.stem.width must be between 1 and 65536, found 0",
            ),
            (
                message(|v| (v.n_layers, v.pool) = (0, Pool::Class)),
                "vision.pool must be Mean without transformer blocks, found Class",
            ),
            (
                message(|v| (v.n_layers, v.stem) = (0, None)),
                "vision.n_layers must be between 1 and 65536, or 0 with a stem, found 0",
            ),
        ] {
            assert_eq!(found, format!("configuration: {known}"));
        }
    }

    #[test]
    fn inverted_residuals_must_fit_the_tower() {
        type Change = fn(&mut VitConfig, &mut InvertedConfig);
        let message = |change: Change| {
            let mut config = Preset::EfficientnetLite0.config();
            let mut inverted = config.vision.inverted.take().unwrap();
            change(&mut config.vision, &mut inverted);
            config.vision.inverted = Some(inverted);
            config.validate().unwrap_err().to_string()
        };
        for (found, known) in [
            (
                message(|v, _| v.patch = 16),
                "vision.patch must be the product of all strides, 32, found 16",
            ),
            (
                message(|v, _| v.n_layers = 1),
                "vision.n_layers must be 0 with inverted residuals, found 1",
            ),
            (
                message(|v, _| v.pool = Pool::Class),
                "vision.pool must be Mean with inverted residuals, found Class",
            ),
            (
                message(|_, i| i.stages[1].kernel = 4),
                "vision.inverted.kernel must be odd and at most 15, found 4",
            ),
            (
                message(|_, i| i.stages[1].stride = 3),
                "vision.inverted.stride must be between 1 and 2, found 3",
            ),
            (
                message(|_, i| i.stages.clear()),
                "vision.inverted.stages must be between 1 and 1024 stages, found 0",
            ),
            (
                message(|_, i| i.norm_eps = 0.0),
                "vision.inverted.norm_eps must be in (0, 1), found 0",
            ),
        ] {
            assert_eq!(found, format!("configuration: {known}"));
        }
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
    fn a_patch_that_does_not_divide_the_picture_is_named() {
        let mut config = Preset::VitT8_64.config();
        config.vision.patch = 7;
        let message = config.validate().unwrap_err().to_string();
        assert_eq!(
            message,
            "configuration: vision.image_size must be a multiple of the patch side 7, found 64"
        );
    }
}
