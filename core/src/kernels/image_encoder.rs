//! An image encoder on the kernels.

use espalier_kernels::{
    Heads, PackedWeights, RGB, ROW_BLOCK, RowNorm, Scratch, Sides, map, normalise, threads,
    with_awake_threads,
};
use image::RgbImage;

use super::inverted::InvertedStages;
use super::stem::PackedStem;
use super::transformer::{
    BlockSizes, PackedBlock, Tokens, all_tokens, at_token, product, projected,
};
use super::weights::{KernelWeights, LinearName};
use crate::error::Result;
use crate::model::{DualConfig, FeatureMap, Pool, VitConfig};
use crate::nn::layer_config::LAYER_NORM_EPS;
use crate::weights::StoredTensors;

/// An image encoder with packed weights. It computes what the image encoder of the
/// same configuration does, up to rounding.
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
    fn new(config: &VitConfig, weights: &mut KernelWeights) -> Result<Self> {
        let (side, outputs) = (config.patch, config.d_model);
        let bias = match config.patch_bias {
            true => weights.floats("visual.patch_embed.proj.bias", &[outputs])?,
            false => vec![0.0; outputs],
        };
        let shape = [outputs, RGB, side, side];
        let name = "visual.patch_embed.proj.weight";
        // Inputs in the order row, column, channel, as the pixels of an image are.
        let weights = weights.packed(name, &shape, &bias, |output, input| {
            let (place, channel) = (input / RGB, input % RGB);
            (output * RGB + channel) * side * side + place
        })?;
        Ok(Self { side, weights })
    }

    /// # Shapes
    /// `[height, width, 3]` each `-> [images (height / side) (width / side), d_model]`
    fn apply(&self, images: &[(Scratch<f32>, Sides)]) -> Vec<f32> {
        let mut patches = Vec::new();
        for (pixels, sides) in images {
            let (rows, columns) = (sides.height / self.side, sides.width / self.side);
            for patch in 0..rows * columns {
                let (top, left) = (patch / columns * self.side, patch % columns * self.side);
                for y in top..top + self.side {
                    let from = (y * sides.width + left) * RGB;
                    patches.extend_from_slice(&pixels[from..from + self.side * RGB]);
                }
            }
        }
        product(&self.weights, &patches, None)
    }
}

/// Takes the mean or standard deviation of pixels.
fn statistics(name: &str, weights: &mut KernelWeights) -> Result<[f32; RGB]> {
    let values = weights.floats(name, &[RGB])?;
    Ok([values[0], values[1], values[2]])
}

impl TokenSource {
    fn new(config: &VitConfig, weights: &mut KernelWeights) -> Result<Self> {
        Ok(match (&config.inverted, &config.stem) {
            (Some(inverted), _) => {
                Self::Inverted(InvertedStages::new(inverted, config.d_model, weights)?)
            }
            (None, Some(stages)) => Self::Stem(PackedStem::new(stages, weights)?),
            (None, None) => Self::Patches(PackedPatches::new(config, weights)?),
        })
    }
}

/// Takes the weights of the transformer blocks.
fn blocks(config: &VitConfig, weights: &mut KernelWeights) -> Result<Vec<PackedBlock>> {
    let sizes = BlockSizes {
        width: config.d_model,
        hidden: config.hidden(),
        heads: Heads {
            count: config.n_heads,
            causal: false,
        },
        activation: config.activation,
        norm_eps: config.norm_eps.unwrap_or(LAYER_NORM_EPS),
    };
    let block = |index: usize| {
        let name = |part: &str| format!("visual.blocks.{index}.{part}");
        PackedBlock::new(sizes, weights, name)
    };
    (0..config.n_layers).map(block).collect()
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
    /// Packs the weights of the image encoder. Batch norms must be folded into the convolutions, as
    /// they are in bundles.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`](crate::CoreError::TensorNames) naming a missing tensor or those that are unknown,
    /// [`CoreError::TensorShape`](crate::CoreError::TensorShape) for one of another shape,
    /// [`CoreError::Config`](crate::CoreError::Config) for norms that are not folded.
    pub fn new(config: &DualConfig, stored: StoredTensors) -> Result<Self> {
        let vision = &config.vision;
        let weights = &mut KernelWeights::new(stored, vision.arithmetic);
        let (width, eps) = (vision.d_model, vision.norm_eps.unwrap_or(LAYER_NORM_EPS));
        let classes = usize::from(vision.pool.has_class());
        let tokens = classes + vision.patches();
        let projection = LinearName {
            weight: "visual_proj.weight".into(),
            bias: None,
        };
        let kernels = Self {
            mean: statistics("pixel_mean", weights)?,
            std: statistics("pixel_std", weights)?,
            tokens: TokenSource::new(vision, weights)?,
            class: (classes == 1)
                .then(|| weights.floats("visual.cls_token", &[width]))
                .transpose()?,
            positions: vision
                .has_positions()
                .then(|| weights.floats("visual.pos_embed", &[tokens, width]))
                .transpose()?,
            norm_pre: vision
                .pre_norm
                .then(|| weights.row_norm("visual.norm_pre", width, eps))
                .transpose()?,
            blocks: blocks(vision, weights)?,
            norm: vision
                .has_last_norm()
                .then(|| weights.row_norm("visual.norm", width, eps))
                .transpose()?,
            pool: vision.pool,
            projection: weights.linear(&projection, width, config.d_embed)?,
        };
        weights.finish()?;
        Ok(kernels)
    }

    /// Computes the projected features of images; see [`forward`](Self::forward).
    #[must_use]
    pub fn forward_all(&self, images: &[RgbImage]) -> Vec<Vec<f32>> {
        projected(&self.projection, &self.pooled_all(images).concat())
    }

    /// Computes the projected feature of an image of the side that the encoder was trained on.
    ///
    /// # Shapes
    /// `[height, width, 3] -> [d_embed]`
    #[must_use]
    pub fn forward(&self, image: &RgbImage) -> Vec<f32> {
        self.forward_all(std::slice::from_ref(image)).concat()
    }

    /// Computes the features of images before the projection. Encoders of inverted residuals accept
    /// images of any size.
    ///
    /// # Shapes
    /// `[height, width, 3]` each `-> [d_model]` each
    #[must_use]
    pub fn pooled_all(&self, images: &[RgbImage]) -> Vec<Vec<f32>> {
        let stacks: Vec<&[RgbImage]> = images.chunks(self.stack(images.len())).collect();
        let pooled = || map(&stacks, |images| self.pooled_stack(images)).concat();
        match stacks.len() < threads() {
            true => with_awake_threads(pooled),
            false => pooled(),
        }
    }

    /// Returns the number of images of a batch that are computed together: transformer blocks then
    /// read their weights once for all of them. Convolutions, whose weights stay in the cache,
    /// gain nothing.
    fn stack(&self, images: usize) -> usize {
        let Some(positions) = self.positions.as_ref().filter(|_| !self.blocks.is_empty()) else {
            return 1;
        };
        let tokens = positions.len() / self.projection.inputs().max(1);
        let fitting = ROW_BLOCK / tokens.max(1);
        fitting.clamp(1, images.div_ceil(threads()).max(1))
    }

    /// Computes the features before the projection of images together; those of encoders with
    /// positions have one size.
    fn pooled_stack(&self, images: &[RgbImage]) -> Vec<Vec<f32>> {
        let width = self.projection.inputs();
        let mut x = self.embedded(images);
        if let Some(norm) = &self.norm_pre {
            x = norm.apply(&x);
        }
        let tokens = x.len() / (width * images.len()).max(1);
        let lengths = vec![tokens; images.len()];
        x = match self.pool {
            Pool::Class => at_token(&self.blocks, x, &lengths, Tokens::First),
            Pool::Mean | Pool::PatchMean => all_tokens(&self.blocks, x, &lengths),
        };
        let norm = |x: &[f32]| match &self.norm {
            Some(norm) => norm.apply(x),
            None => x.to_vec(),
        };
        let images = x.chunks_exact((x.len() / images.len().max(1)).max(1));
        let pooled = images.map(|x| match self.pool {
            Pool::Class => norm(x),
            Pool::Mean => norm(&mean(x, width)),
            Pool::PatchMean => mean(&norm(x)[width..], width),
        });
        pooled.collect()
    }

    /// Computes the projected feature of each place of an image of any size; `None` for an encoder
    /// whose places see all others, so that no feature belongs to one place.
    #[must_use]
    pub fn feature_map(&self, image: &RgbImage) -> Option<FeatureMap> {
        let TokenSource::Inverted(stages) = &self.tokens else {
            return None;
        };
        let (pixels, sides) = self.normalised(image);
        let (map, sides) = stages.apply(&pixels, sides);
        Some(FeatureMap {
            rows: sides.height,
            columns: sides.width,
            features: projected(&self.projection, &map),
        })
    }

    /// Returns the normalised pixels of an image, `[height, width, 3]`.
    fn normalised(&self, image: &RgbImage) -> (Scratch<f32>, Sides) {
        let sides = Sides {
            height: image.height() as usize,
            width: image.width() as usize,
        };
        (normalise(image.as_raw(), self.mean, self.std), sides)
    }

    /// Returns the tokens of each image with their positions, the class token first if there is one.
    fn embedded(&self, images: &[RgbImage]) -> Vec<f32> {
        let images: Vec<_> = images.iter().map(|image| self.normalised(image)).collect();
        let tokens = match &self.tokens {
            TokenSource::Inverted(stages) => each(&images, |x, sides| stages.apply(x, sides).0),
            TokenSource::Stem(stem) => each(&images, |x, sides| stem.apply(x, sides)),
            TokenSource::Patches(patches) => patches.apply(&images),
        };
        let Some(positions) = &self.positions else {
            return tokens;
        };
        let class = self.class.as_deref().unwrap_or_default();
        let length = (tokens.len() / images.len().max(1)).max(1);
        // Without a class token, the positions of the patches are the last ones.
        let skipped = positions.len().saturating_sub(class.len() + length);
        let mut x = Vec::with_capacity(tokens.len() + images.len() * class.len());
        for tokens in tokens.chunks_exact(length) {
            let tokens = class.iter().chain(tokens);
            x.extend(tokens.zip(&positions[skipped..]).map(|(x, p)| x + p));
        }
        x
    }
}

/// Computes the tokens of images one by one.
fn each(images: &[(Scratch<f32>, Sides)], tokens: impl Fn(&[f32], Sides) -> Vec<f32>) -> Vec<f32> {
    let images = images.iter().map(|(pixels, sides)| tokens(pixels, *sides));
    images.collect::<Vec<_>>().concat()
}
