//! The image encoder: patches or convolutions, then a transformer; or inverted residuals alone.

use burn::module::{Initializer, Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::config::{Pool, Positions, VitConfig};
use crate::nn::layer_config::LAYER_NORM_EPS;
use crate::nn::{
    AttentionConfig, BatchNorm, Block, BlockConfig, ConvStem, InvertedResiduals, MlpConfig,
    PatchEmbed, sincos_2d,
};
use crate::ops::layer_norm;

/// Image encoder whose feature is its class token, or the mean of its patch tokens.
#[derive(Module, Debug)]
pub struct VisionBackbone {
    /// Class token, `[1, 1, d_model]`, if [`Pool`] needs one.
    pub cls_token: Option<Param<Tensor<3>>>,
    /// Positions of the class token, if there is one, and of the patches, `[1, tokens, d_model]`;
    /// only with transformer blocks.
    pub pos_embed: Option<Param<Tensor<3>>>,
    /// Patches to tokens; absent with convolutions.
    pub patch_embed: Option<PatchEmbed>,
    /// Convolutions to tokens.
    pub stem: Option<ConvStem>,
    /// Inverted residuals to tokens.
    pub inverted: Option<InvertedResiduals>,
    /// Layer norm before the blocks (CLIP only).
    pub norm_pre: Option<LayerNorm>,
    /// Transformer blocks.
    pub blocks: Vec<Block>,
    /// Layer norm after the blocks; absent with inverted residuals.
    pub norm: Option<LayerNorm>,
    #[module(skip)]
    pool: Pool,
    /// `eps` of all layer norms.
    #[module(skip)]
    norm_eps: f64,
}

impl VitConfig {
    /// Builds the encoder on a device, initialised as in notation 3.1.
    pub fn init(&self, device: &Device) -> VisionBackbone {
        let classes = usize::from(self.pool.has_class());
        let (tokens, d) = (classes + self.patches(), self.d_model);
        let pos_embed = || match self.positions {
            Positions::Sincos => {
                let side = self.image_size / self.patch;
                let mut positions = vec![0.0; classes * d];
                positions.extend(sincos_2d(side, side, d));
                let data = TensorData::new(positions, [1, tokens, d]);
                Param::from_tensor(Tensor::from_data(data, device)).set_require_grad(false)
            }
            Positions::Learned => {
                let std = (d as f64).powf(-0.5);
                Initializer::Normal { mean: 0.0, std }.init([1, tokens, d], device)
            }
        };
        let eps = self.norm_eps.unwrap_or(LAYER_NORM_EPS);
        let norm = LayerNormConfig::new(d).with_epsilon(eps);
        let block = BlockConfig::new(
            AttentionConfig::new(d, self.n_heads),
            MlpConfig::new(d, self.hidden()).with_activation(self.activation),
        )
        .with_norm_eps(eps);
        VisionBackbone {
            cls_token: (classes == 1).then(|| {
                let std = 1e-6;
                Initializer::Normal { mean: 0.0, std }.init([1, 1, d], device)
            }),
            pos_embed: self.has_positions().then(pos_embed),
            patch_embed: (self.stem.is_none() && self.inverted.is_none())
                .then(|| PatchEmbed::new(self.patch, d, self.patch_bias, device)),
            stem: self
                .stem
                .as_ref()
                .map(|stages| ConvStem::new(stages, device)),
            inverted: self
                .inverted
                .as_ref()
                .map(|config| InvertedResiduals::new(config, d, device)),
            norm_pre: self.pre_norm.then(|| norm.init(device)),
            blocks: (0..self.n_layers).map(|_| block.init(device)).collect(),
            norm: self.has_last_norm().then(|| norm.init(device)),
            pool: self.pool,
            norm_eps: eps,
        }
    }
}

impl VisionBackbone {
    /// Computes the feature at each position of normalised images of any size; `None` for an encoder
    /// whose positions attend to all others, so that no feature belongs to one position.
    ///
    /// # Shapes
    /// `[batch, 3, height, width] -> [batch, rows, columns, d_model]`
    #[must_use]
    pub fn feature_map(&self, images: Tensor<4>) -> Option<Tensor<4>> {
        let inverted = self.inverted.as_ref()?;
        Some(inverted.forward(images).permute([0, 2, 3, 1]))
    }

    /// Computes the feature of normalised images; with `keep`, from a subset of the patches, the same for
    /// every image of the batch. Training on `k` patches takes `k / patches` of the time.
    ///
    /// # Shapes
    /// `images [batch, 3, image_size, image_size]`, `keep [k]` patch indices `-> [batch, d_model]`
    pub fn forward_tokens(&self, images: Tensor<4>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        let mut x = match (&self.inverted, &self.stem, &self.patch_embed) {
            (Some(inverted), ..) => {
                let map = inverted.forward(images);
                let [batch, d, rows, cols] = map.dims();
                map.reshape([batch, d, rows * cols]).swap_dims(1, 2)
            }
            (None, Some(stem), _) => stem.forward(images),
            (None, None, Some(patches)) => patches.forward(images),
            (None, None, None) => unreachable!("no patches, stem or inverted residuals"),
        };
        let [batch, n_patches, d] = x.dims();
        let pos = self.pos_embed.as_ref().map(Param::val);
        if let Some(pos) = &pos {
            let classes = pos.dims()[1] - n_patches;
            x = x + pos.clone().narrow(1, classes, n_patches);
        }
        if let Some(keep) = keep {
            x = x.select(1, keep);
        }
        if let (Some(class), Some(pos)) = (&self.cls_token, pos) {
            let class = (class.val() + pos.narrow(1, 0, 1)).expand([batch, 1, d]);
            x = Tensor::cat(vec![class, x], 1);
        }
        if let Some(norm) = &self.norm_pre {
            x = layer_norm(norm, self.norm_eps, x);
        }
        for block in &self.blocks {
            x = block.forward(x);
        }
        let tokens = x.dims()[1];
        let norm = |x: Tensor<3>| match &self.norm {
            Some(norm) => layer_norm(norm, self.norm_eps, x),
            None => x,
        };
        let feature = match self.pool {
            Pool::Class => norm(x.narrow(1, 0, 1)),
            Pool::Mean => norm(x.mean_dim(1)),
            Pool::PatchMean => norm(x).narrow(1, 1, tokens - 1).mean_dim(1),
        };
        feature.reshape([batch, d])
    }

    /// Returns the encoder with the recorded batch statistics merged into the running statistics;
    /// call this after a training step (see
    /// [`BatchNorm::with_merged_statistics`](crate::nn::BatchNorm::with_merged_statistics)).
    #[must_use]
    pub fn with_merged_statistics(mut self) -> Self {
        self.inverted = self.inverted.map(InvertedResiduals::with_merged_statistics);
        self
    }

    /// Returns the encoder with batch norms folded into convolutions, for the configuration
    /// [`VitConfig::folded`]. An encoder without batch norms is returned unchanged.
    #[must_use]
    pub fn folded(mut self) -> Self {
        self.inverted = self.inverted.map(InvertedResiduals::folded);
        self
    }

    /// Returns the batch norms, always in the same order; an encoder without them returns none.
    pub fn batch_norms(&self) -> impl Iterator<Item = &BatchNorm> {
        self.inverted
            .iter()
            .flat_map(InvertedResiduals::batch_norms)
    }

    /// Discards the recorded batch statistics, for example after a step that was not applied.
    pub fn discard_statistics(&self) {
        self.batch_norms().for_each(BatchNorm::discard_statistics);
    }
}
