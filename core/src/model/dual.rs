//! The image encoder, the text encoder, and the model of both.

use burn::module::{Initializer, Module, Param};
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor};

use super::config::DualConfig;
use super::lift::Lift;
use super::text::{TextBackbone, Tokens};
use super::vision::VisionBackbone;
use crate::geometry::{LogScalar, LogScalarConfig};
use crate::nn::{Mlp, MlpConfig};

/// Image encoder: from images with values in `[0, 1]` to projected features.
#[derive(Module, Debug)]
pub struct ImageEncoder {
    /// Backbone: a transformer or convolutions.
    pub visual: VisionBackbone,
    /// Projection to the embedding width, without bias.
    pub visual_proj: Linear,
    /// Mean that is subtracted from pixels, `[3, 1, 1]`; stored with the weights.
    pub pixel_mean: Param<Tensor<3>>,
    /// Standard deviation that pixels are divided by, `[3, 1, 1]`.
    pub pixel_std: Param<Tensor<3>>,
}

/// Text encoder: from tokens to projected features.
#[derive(Module, Debug)]
pub struct TextEncoder {
    /// Transformer.
    pub textual: TextBackbone,
    /// Two layers before the projection, whose output is added to their input; see
    /// [`TextConfig::d_head`](super::TextConfig::d_head).
    pub textual_head: Option<Mlp>,
    /// Projection to the embedding width, without bias.
    pub textual_proj: Linear,
}

/// The image encoder, the text encoder, their shared space, and the scale of the logits.
#[derive(Module, Debug)]
pub struct DualEncoder {
    /// Image encoder.
    pub image: ImageEncoder,
    /// Text encoder.
    pub text: TextEncoder,
    /// Map from features to points of the space.
    pub lift: Lift,
    /// Logit scale `s`.
    pub logit_scale: LogScalar,
}

/// The part of a model that embeds images.
#[derive(Module, Debug)]
pub struct ImageModel {
    /// Image encoder.
    pub image: ImageEncoder,
    /// Maps features to points.
    pub lift: Lift,
}

/// The part of a model that embeds texts.
#[derive(Module, Debug)]
pub struct TextModel {
    /// Text encoder.
    pub text: TextEncoder,
    /// Maps features to points.
    pub lift: Lift,
    /// Logit scale that the model was trained with.
    pub logit_scale: LogScalar,
}

fn projection(d_in: usize, d_out: usize, device: &Device) -> Linear {
    let std = (d_in as f64).powf(-0.5);
    Linear {
        weight: Initializer::Normal { mean: 0.0, std }.init([d_in, d_out], device),
        bias: None,
    }
}

fn constant(values: [f32; 3], device: &Device) -> Param<Tensor<3>> {
    let tensor = Tensor::<1>::from_floats(values, device).reshape([3, 1, 1]);
    Param::from_tensor(tensor).set_require_grad(false)
}

impl DualConfig {
    /// Builds the image encoder alone, as the page does.
    pub fn init_image(&self, device: &Device) -> ImageEncoder {
        ImageEncoder {
            visual: self.vision.init(device),
            visual_proj: projection(self.vision.d_model, self.d_embed, device),
            pixel_mean: constant(self.pixel_mean, device),
            pixel_std: constant(self.pixel_std, device),
        }
    }

    /// Builds the text encoder alone.
    pub fn init_text(&self, device: &Device) -> TextEncoder {
        TextEncoder {
            textual: self.text.init(device),
            textual_head: self.text.d_head.map(|hidden| {
                let width = self.text.d_model;
                MlpConfig::new(width, hidden)
                    .with_std_in((width as f64).powf(-0.5))
                    .with_std_out(0.5 * (hidden as f64).powf(-0.5))
                    .init(device)
            }),
            textual_proj: projection(self.text.d_model, self.d_embed, device),
        }
    }

    /// Builds the whole model. Call [`validate`](Self::validate) first on a configuration from
    /// outside.
    pub fn init(&self, device: &Device) -> DualEncoder {
        DualEncoder {
            image: self.init_image(device),
            text: self.init_text(device),
            lift: self.init_lift(device),
            logit_scale: LogScalarConfig::logit_scale().init(device),
        }
    }
}

impl ImageEncoder {
    /// Computes projected features of images with values in `[0, 1]`. Pixels are normalised only
    /// here.
    ///
    /// # Shapes
    /// `[batch, 3, image_size, image_size] -> [batch, d_embed]`
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        self.forward_tokens(images, None)
    }

    /// Like [`forward`](Self::forward), with a subset of the patches; see
    /// [`VisionBackbone::forward_tokens`].
    ///
    /// # Shapes
    /// `[batch, 3, image_size, image_size] -> [batch, d_embed]`
    pub fn forward_tokens(&self, images: Tensor<4>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        self.project(self.pooled_tokens(images, keep))
    }

    /// Computes pooled features, before the projection, of images with values in `[0, 1]`. For a
    /// locked encoder they are computed once per photo; they are also the input of a
    /// [`Classifier`](super::Classifier).
    ///
    /// # Shapes
    /// `[batch, 3, image_size, image_size] -> [batch, d_model]`
    pub fn pooled(&self, images: Tensor<4>) -> Tensor<2> {
        self.pooled_tokens(images, None)
    }

    /// Like [`pooled`](Self::pooled), with a subset of the patches.
    ///
    /// # Shapes
    /// `[batch, 3, image_size, image_size] -> [batch, d_model]`
    pub fn pooled_tokens(&self, images: Tensor<4>, keep: Option<Tensor<1, Int>>) -> Tensor<2> {
        self.visual.forward_tokens(self.normalised(images), keep)
    }

    /// Computes the projected feature of each place of images with values in `[0, 1]`, see
    /// [`VisionBackbone::feature_map`].
    ///
    /// # Shapes
    /// `[batch, 3, height, width] -> [batch, rows, columns, d_embed]`
    #[must_use]
    pub fn feature_map(&self, images: Tensor<4>) -> Option<Tensor<4>> {
        let map = self.visual.feature_map(self.normalised(images))?;
        Some(self.visual_proj.forward(map))
    }

    fn normalised(&self, images: Tensor<4>) -> Tensor<4> {
        (images - self.pixel_mean.val().unsqueeze()) / self.pixel_std.val().unsqueeze()
    }

    /// Projects pooled features.
    ///
    /// # Shapes
    /// `[batch, d_model] -> [batch, d_embed]`
    pub fn project(&self, pooled: Tensor<2>) -> Tensor<2> {
        self.visual_proj.forward(pooled)
    }
}

impl TextEncoder {
    /// Computes projected features of texts.
    ///
    /// # Shapes
    /// `[batch]` texts `-> [batch, d_embed]`
    pub fn forward(&self, tokens: &Tokens) -> Tensor<2> {
        self.project(self.textual.forward(tokens))
    }

    /// Projects features of the transformer.
    ///
    /// # Shapes
    /// `[batch, d_model] -> [batch, d_embed]`
    pub fn project(&self, features: Tensor<2>) -> Tensor<2> {
        let features = match &self.textual_head {
            Some(head) => features.clone() + head.forward(features),
            None => features,
        };
        self.textual_proj.forward(features)
    }
}

impl DualEncoder {
    /// Computes points of images with values in `[0, 1]`.
    ///
    /// # Shapes
    /// `[batch, 3, image_size, image_size] -> [batch, d_embed]`
    pub fn embed_image(&self, images: Tensor<4>) -> Tensor<2> {
        self.lift.image(self.image.forward(images))
    }

    /// Computes points of texts.
    ///
    /// # Shapes
    /// `[batch]` texts `-> [batch, d_embed]`
    pub fn embed_text(&self, tokens: &Tokens) -> Tensor<2> {
        self.lift.text(self.text.forward(tokens))
    }

    /// Returns the model with every learned scalar clamped to its interval; call this before a
    /// training step.
    #[must_use]
    pub fn clamped(mut self) -> Self {
        self.lift = self.lift.clamped();
        self.logit_scale = self.logit_scale.clamped();
        self
    }
}
