//! An image encoder on the kernels.

use espalier_kernels::{Activation, Heads, PackedWeights, RGB, RowNorm, Sides, map, normalise};
use image::RgbImage;

use super::inverted::InvertedStages;
use super::stem::PackedStem;
use super::transformer::{BlockSizes, PackedBlock};
use super::weights::{KernelWeights, LinearName};
use crate::error::Result;
use crate::model::{DualConfig, FeatureMap, Pool, VitConfig};
use crate::nn::layer_config::LAYER_NORM_EPS;

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
    /// Takes the weights of the image encoder and packs them. Batch norms must be folded into the
    /// convolutions, as they are in bundles.
    ///
    /// # Errors
    /// [`CoreError::TensorNames`](crate::CoreError::TensorNames) naming a missing tensor,
    /// [`CoreError::TensorShape`](crate::CoreError::TensorShape) for one of another shape,
    /// [`CoreError::Config`](crate::CoreError::Config) for norms that are not folded.
    pub fn new(config: &DualConfig, weights: &mut KernelWeights) -> Result<Self> {
        let vision = &config.vision;
        let (width, eps) = (vision.d_model, vision.norm_eps.unwrap_or(LAYER_NORM_EPS));
        let classes = usize::from(vision.pool.has_class());
        let tokens = classes + vision.patches();
        let projection = LinearName {
            weight: "visual_proj.weight".into(),
            bias: None,
        };
        Ok(Self {
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
        })
    }

    /// Computes the projected features of images; see [`forward`](Self::forward).
    #[must_use]
    pub fn forward_all(&self, images: &[RgbImage]) -> Vec<Vec<f32>> {
        map(images, |image| self.forward(image))
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

    /// Computes the features of images before the projection; see [`pooled`](Self::pooled).
    #[must_use]
    pub fn pooled_all(&self, images: &[RgbImage]) -> Vec<Vec<f32>> {
        map(images, |image| self.pooled(image))
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

    /// Computes the projected feature of each place of an image of any size; `None` for an encoder
    /// whose places see all others, so that no feature belongs to one place.
    #[must_use]
    pub fn feature_map(&self, image: &RgbImage) -> Option<FeatureMap> {
        let TokenSource::Inverted(stages) = &self.tokens else {
            return None;
        };
        let (pixels, sides) = self.normalised(image);
        let (map, sides) = stages.apply(&pixels, sides);
        let mut features = vec![0.0; sides.pixels() * self.projection.outputs()];
        self.projection
            .apply(&map, None, Activation::None, &mut features);
        let features = features.chunks(self.projection.outputs());
        Some(FeatureMap {
            rows: sides.height,
            columns: sides.width,
            features: features.map(<[f32]>::to_vec).collect(),
        })
    }

    /// Returns the normalised pixels of an image, `[height, width, 3]`.
    fn normalised(&self, image: &RgbImage) -> (Vec<f32>, Sides) {
        let sides = Sides {
            height: image.height() as usize,
            width: image.width() as usize,
        };
        (normalise(image.as_raw(), self.mean, self.std), sides)
    }

    /// Returns the tokens with their positions, the class token first if there is one.
    fn embedded(&self, image: &RgbImage) -> Vec<f32> {
        let (pixels, sides) = self.normalised(image);
        let tokens = match &self.tokens {
            TokenSource::Inverted(stages) => stages.apply(&pixels, sides).0,
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
}
