//! Checks of the configuration of a model.

use std::ops::RangeInclusive;

use super::config::{DualConfig, LiftKind, Pool, TextFamily, VitConfig};
use crate::error::{CoreError, Result};
use crate::nn::InvertedConfig;
use crate::nn::layer_config::LAYER_NORM_EPS;

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

fn within(field: &str, value: usize, allowed: RangeInclusive<usize>) -> Result<()> {
    let expected = format!("between {} and {}", allowed.start(), allowed.end());
    require(allowed.contains(&value), field, &expected, value)
}

/// Checks the stages of inverted residuals.
fn validate_stages(inverted: &InvertedConfig) -> Result<()> {
    let most_blocks = 1 << 10;
    require(
        !inverted.stages.is_empty() && inverted.stages.len() <= most_blocks,
        "vision.inverted.stages",
        "between 1 and 1024 stages",
        inverted.stages.len(),
    )?;
    within(
        "vision.inverted.stem_width",
        inverted.stem_width,
        1..=1 << 14,
    )?;
    for stage in &inverted.stages {
        within("vision.inverted.width", stage.width, 1..=1 << 14)?;
        within("vision.inverted.expand", stage.expand, 1..=64)?;
        within("vision.inverted.stride", stage.stride, 1..=2)?;
        within("vision.inverted.blocks", stage.blocks, 1..=most_blocks)?;
        require(
            stage.kernel % 2 == 1 && stage.kernel <= 15,
            "vision.inverted.kernel",
            "odd and at most 15",
            stage.kernel,
        )?;
    }
    Ok(())
}

/// Checks the batch norms of inverted residuals.
fn validate_norms(inverted: &InvertedConfig) -> Result<()> {
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

impl VitConfig {
    /// Checks an encoder of inverted residuals.
    fn validate_inverted(&self, inverted: &InvertedConfig) -> Result<()> {
        let (layers, pool) = (self.n_layers.to_string(), format!("{:?}", self.pool));
        for (field, expected, ok, found) in [
            ("stem", "absent", self.stem.is_none(), "one"),
            ("n_layers", "0", self.n_layers == 0, layers.as_str()),
            ("pool", "Mean", self.pool == Pool::Mean, pool.as_str()),
            ("pre_norm", "false", !self.pre_norm, "true"),
        ] {
            let expected = format!("{expected} with inverted residuals");
            require(ok, &format!("vision.{field}"), &expected, found)?;
        }
        validate_stages(inverted)?;
        require(
            inverted.stride() == self.patch,
            "vision.patch",
            &format!("the product of all strides, {}", inverted.stride()),
            self.patch,
        )?;
        validate_norms(inverted)
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
            within("vision.stem.width", stage.width, 1..=1 << 16)?;
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

impl DualConfig {
    /// Checks everything that building the model relies on.
    ///
    /// # Errors
    /// [`CoreError::Config`] naming the first invalid field.
    pub fn validate(&self) -> Result<()> {
        let (v, t) = (&self.vision, &self.text);
        self.validate_sizes()?;
        v.validate_tokens()?;
        self.validate_widths()?;
        require(
            (514..=1 << 24).contains(&t.vocab_size),
            "text.vocab_size",
            "between 514 and 2^24",
            t.vocab_size,
        )?;
        let fits = |hidden: usize| t.family == TextFamily::Bert && (1..=1 << 16).contains(&hidden);
        require(
            t.d_head.is_none_or(fits),
            "text.d_head",
            "absent, or between 1 and 65536 in BERT's family",
            format!("{:?}", t.d_head),
        )?;
        for (field, eps) in [
            ("vision.norm_eps", v.norm_eps),
            ("text.norm_eps", t.norm_eps),
        ] {
            let eps = eps.unwrap_or(LAYER_NORM_EPS);
            require(eps > 0.0 && eps < 1.0, field, "in (0, 1)", eps)?;
        }
        within("text.context", t.context, 3..=1 << 16)?;
        if let LiftKind::Product { factors, .. } = self.lift {
            require(
                factors > 0 && self.d_embed.is_multiple_of(factors),
                "lift.factors",
                &format!("a divisor of the embedding width {}", self.d_embed),
                factors,
            )?;
        }
        require(
            !self.equal_image_radii || self.lift == LiftKind::Lorentz,
            "equal_image_radii",
            "false, except with the Lorentz model",
            self.equal_image_radii,
        )?;
        require(
            self.pixel_std.iter().all(|s| s.is_finite() && *s > 0.0),
            "pixel_std",
            "three positive numbers",
            format!("{:?}", self.pixel_std),
        )
    }

    /// Checks that sizes are positive and not too large.
    fn validate_sizes(&self) -> Result<()> {
        let (v, t) = (&self.vision, &self.text);
        within("vision.image_size", v.image_size, 1..=1 << 12)?;
        let positive = [
            ("vision.patch", v.patch),
            ("vision.n_heads", v.n_heads),
            ("text.n_layers", t.n_layers),
            ("text.n_heads", t.n_heads),
            ("d_embed", self.d_embed),
            ("vision.d_hidden", v.hidden()),
            ("text.d_hidden", t.hidden()),
        ];
        for (field, value) in positive {
            within(field, value, 1..=1 << 16)?;
        }
        Ok(())
    }

    /// Checks that the widths of both encoders fit their heads.
    fn validate_widths(&self) -> Result<()> {
        let (v, t) = (&self.vision, &self.text);
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
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Preset;
    use crate::nn::StageConfig;

    #[test]
    fn every_preset_is_valid() {
        for preset in Preset::ALL {
            preset.config().validate().unwrap();
        }
    }

    #[test]
    fn a_stem_must_fit_the_transformer() {
        let message = |change: fn(&mut VitConfig)| {
            let mut config = Preset::VitT8_64.config();
            let stages = [(32, 0), (64, 1), (192, 1)];
            config.vision.stem = Some(stages.map(|(w, b)| StageConfig::new(w, b)).to_vec());
            config.validate().unwrap();
            change(&mut config.vision);
            config.validate().unwrap_err().to_string()
        };
        for (message, expected) in [
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
            (
                message(|v| (v.patch, v.stem) = (7, None)),
                "vision.image_size must be a multiple of the patch side 7, found 64",
            ),
        ] {
            assert_eq!(message, format!("configuration: {expected}"));
        }
    }

    #[test]
    fn inverted_residuals_must_fit_the_configuration() {
        type Change = fn(&mut VitConfig, &mut InvertedConfig);
        let message = |change: Change| {
            let mut config = Preset::EfficientnetLite0.config();
            let mut inverted = config.vision.inverted.take().unwrap();
            change(&mut config.vision, &mut inverted);
            config.vision.inverted = Some(inverted);
            config.validate().unwrap_err().to_string()
        };
        for (message, expected) in [
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
            assert_eq!(message, format!("configuration: {expected}"));
        }
    }
}
