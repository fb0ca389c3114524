//! An image encoder on the kernels.

use burn::module::Param;
use image::RgbImage;

use super::activation::Activation;
use super::depthwise::Sides;
use super::inverted::InvertedStages;
use super::layer_norm::RowNorm;
use super::product::PackedWeights;
use super::stem::PackedStem;
use super::threads;
use super::transformer::PackedBlock;
use super::weights::{packed, row_norm, values};
use crate::error::{CoreError, Result};
use crate::model::{ImageEncoder, Pool};
use crate::nn::PatchEmbed;

/// Channels of an image.
const RGB: usize = 3;

/// An image encoder with packed weights. It computes what [`ImageEncoder::pooled`] and
/// [`ImageEncoder::forward`] do, up to rounding.
#[derive(Clone, Debug)]
pub struct ImageKernels {
    mean: [f32; RGB],
    std: [f32; RGB],
    tokens: TokenSource,
    /// `[d_model]`
    class: Option<Vec<f32>>,
    /// `[tokens, d_model]`, the class token first if there is one.
    positions: Option<Vec<f32>>,
    norm_pre: Option<RowNorm>,
    blocks: Vec<PackedBlock>,
    norm: Option<RowNorm>,
    pool: Pool,
    projection: PackedWeights,
}

/// How an image becomes tokens.
#[derive(Clone, Debug)]
enum TokenSource {
    Inverted(InvertedStages),
    Stem(PackedStem),
    Patches(PackedPatches),
}

/// A linear map of square patches that do not overlap.
#[derive(Clone, Debug)]
struct PackedPatches {
    side: usize,
    weights: PackedWeights,
}

impl PackedPatches {
    fn new(layer: &PatchEmbed) -> Result<Self> {
        let weight = layer.proj.weight.val();
        let [outputs, channels, side, _] = weight.dims();
        let weight = values(weight)?;
        let bias = layer.proj.bias.as_ref().map(|bias| values(bias.val()));
        let bias = bias.transpose()?.unwrap_or_else(|| vec![0.0; outputs]);
        // Inputs in the order row, column, channel, as the pixels of an image are.
        let weights = PackedWeights::new(channels * side * side, &bias, |output, input| {
            let (place, channel) = (input / channels, input % channels);
            weight[(output * channels + channel) * side * side + place]
        });
        Ok(Self { side, weights })
    }

    /// # Shapes
    /// `[height, width, 3] -> [(height / side) (width / side), d_model]`
    fn apply(&self, pixels: &[f32], sides: Sides) -> Vec<f32> {
        let (rows, columns) = (sides.height / self.side, sides.width / self.side);
        let mut patches = Vec::with_capacity(rows * columns * self.weights.inputs());
        for patch in 0..rows * columns {
            let (top, left) = (patch / columns * self.side, patch % columns * self.side);
            for y in top..top + self.side {
                let from = (y * sides.width + left) * RGB;
                patches.extend_from_slice(&pixels[from..from + self.side * RGB]);
            }
        }
        let mut tokens = vec![0.0; rows * columns * self.weights.outputs()];
        self.weights
            .apply(&patches, None, Activation::None, &mut tokens);
        tokens
    }
}

/// Reads the mean or standard deviation of pixels.
fn statistics(values: Vec<f32>) -> Result<[f32; RGB]> {
    let found = values.len();
    values.try_into().map_err(|_| CoreError::TensorShape {
        tensor: "pixel_mean and pixel_std".into(),
        expected: vec![RGB],
        found: vec![found],
    })
}

/// Returns the mean of rows.
fn mean(rows: &[f32], width: usize) -> Vec<f32> {
    let mut mean = vec![0.0; width];
    for row in rows.chunks_exact(width.max(1)) {
        mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    let count = (rows.len() / width.max(1)).max(1) as f32;
    mean.iter_mut().for_each(|sum| *sum /= count);
    mean
}

impl ImageKernels {
    /// Packs the weights of an encoder.
    ///
    /// # Errors
    /// [`CoreError::Device`] when the weights cannot be read.
    pub fn new(encoder: &ImageEncoder) -> Result<Self> {
        let visual = &encoder.visual;
        let tokens = match (&visual.inverted, &visual.stem, &visual.patch_embed) {
            (Some(inverted), ..) => TokenSource::Inverted(InvertedStages::new(inverted)?),
            (None, Some(stem), _) => TokenSource::Stem(PackedStem::new(stem)?),
            (None, None, Some(patches)) => TokenSource::Patches(PackedPatches::new(patches)?),
            (None, None, None) => unreachable!("no patches, stem or inverted residuals"),
        };
        let of = |param: &Param<burn::tensor::Tensor<3>>| values(param.val());
        let blocks = visual.blocks.iter().map(PackedBlock::new);
        let norm = |norm| row_norm(norm, visual.norm_eps());
        Ok(Self {
            mean: statistics(values(encoder.pixel_mean.val())?)?,
            std: statistics(values(encoder.pixel_std.val())?)?,
            tokens,
            class: visual.cls_token.as_ref().map(of).transpose()?,
            positions: visual.pos_embed.as_ref().map(of).transpose()?,
            norm_pre: visual.norm_pre.as_ref().map(norm).transpose()?,
            blocks: blocks.collect::<Result<_>>()?,
            norm: visual.norm.as_ref().map(norm).transpose()?,
            pool: visual.pool(),
            projection: packed(&encoder.visual_proj)?,
        })
    }

    /// Computes the projected features of images; see [`forward`](Self::forward).
    #[must_use]
    pub fn forward_all(&self, images: &[RgbImage]) -> Vec<f32> {
        threads::map(images, |image| self.forward(image)).concat()
    }

    /// Computes the projected feature of an image of the side that the encoder was trained on.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [d_embed]`
    #[must_use]
    pub fn forward(&self, image: &RgbImage) -> Vec<f32> {
        let mut feature = vec![0.0; self.projection.outputs()];
        self.projection
            .apply(&self.pooled(image), None, Activation::None, &mut feature);
        feature
    }

    /// Computes the feature before the projection. Encoders of inverted residuals accept an image
    /// of any size.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [d_model]`
    #[must_use]
    pub fn pooled(&self, image: &RgbImage) -> Vec<f32> {
        let width = self.projection.inputs();
        let mut x = self.embedded(image);
        if let Some(norm) = &self.norm_pre {
            x = norm.apply(&x);
        }
        for block in &self.blocks {
            x = block.apply(&x);
        }
        let norm = |x: Vec<f32>| match &self.norm {
            Some(norm) => norm.apply(&x),
            None => x,
        };
        match self.pool {
            Pool::Class => norm(x[..width].to_vec()),
            Pool::Mean => norm(mean(&x, width)),
            Pool::PatchMean => mean(&norm(x)[width..], width),
        }
    }

    /// Returns the tokens with their positions, the class token first if there is one.
    fn embedded(&self, image: &RgbImage) -> Vec<f32> {
        let pixels = self.normalised(image);
        let sides = Sides {
            height: image.height() as usize,
            width: image.width() as usize,
        };
        let tokens = match &self.tokens {
            TokenSource::Inverted(stages) => stages.apply(&pixels, sides),
            TokenSource::Stem(stem) => stem.apply(&pixels, sides),
            TokenSource::Patches(patches) => patches.apply(&pixels, sides),
        };
        let Some(positions) = &self.positions else {
            return tokens;
        };
        let mut x = match &self.class {
            Some(class) => [&class[..], &tokens[..]].concat(),
            None => tokens,
        };
        // Without a class token, the positions of the patches are the last ones.
        let skipped = positions.len().saturating_sub(x.len());
        let positions = &positions[skipped..];
        x.iter_mut().zip(positions).for_each(|(x, p)| *x += p);
        x
    }

    /// Returns `(v / 255 - mean) / std` of all values.
    fn normalised(&self, image: &RgbImage) -> Vec<f32> {
        let pixels = image.as_raw().as_chunks::<RGB>().0;
        let pixels = pixels.iter().flat_map(|pixel| {
            let channel = |c: usize| (f32::from(pixel[c]) / 255.0 - self.mean[c]) / self.std[c];
            [channel(0), channel(1), channel(2)]
        });
        pixels.collect()
    }
}
