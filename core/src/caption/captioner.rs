//! A bundle made ready to caption photos.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use image::RgbImage;

use super::index::{CaptionIndex, embedding_rows};
use super::path::{Classifier, TaxonomyPath};
use super::result::{ModelInfo, PathStep, Rung, TaxonomyResult};
use super::{files, ladder};
use crate::bundle::{BundleFiles, Manifest, sha256_hex};
use crate::error::{CoreError, Result};
use crate::geometry::{LogScalar, Space};
use crate::input::{Preprocess, to_planes};
use crate::model::{DualConfig, ImageEncoder, Lift, TextEncoder};
use crate::taxonomy::Taxonomy;
use crate::weights;

/// The part of a model that embeds pictures.
#[derive(Module, Debug)]
pub struct ImageModel {
    /// Picture encoder.
    pub image: ImageEncoder,
    /// From features to points.
    pub lift: Lift,
}

/// The part of a model that embeds texts.
#[derive(Module, Debug)]
pub struct TextModel {
    /// Text encoder.
    pub text: TextEncoder,
    /// From features to points.
    pub lift: Lift,
    /// Scale of the logits that the model was trained with.
    pub logit_scale: LogScalar,
}

/// What a photo's embedding says.
#[derive(Clone, Debug, PartialEq)]
pub struct Caption {
    /// From general to specific.
    pub ladder: Vec<Rung>,
    /// Place in the taxonomy.
    pub taxonomy: TaxonomyResult,
}

/// A bundle with its picture tower on a device.
#[derive(Debug)]
pub struct Captioner {
    info: ModelInfo,
    preprocess: Preprocess,
    space: Space,
    model: ImageModel,
    device: Device,
    index: CaptionIndex,
    classifier: Classifier,
    selftest: Option<(RgbImage, Vec<f32>)>,
}

/// Build the picture part of an architecture, without weights.
pub fn image_model(config: &DualConfig, device: &Device) -> ImageModel {
    ImageModel {
        image: config.init_image(device),
        lift: config.lift.init(config.d_embed, device),
    }
}

/// Rows of points on the host. Waits for the device without blocking, as a browser demands.
pub(super) async fn rows(points: Tensor<2>) -> Result<Vec<Vec<f32>>> {
    let [_, width] = points.dims();
    let data = points
        .into_data_async()
        .await
        .map_err(|e| CoreError::Device(format!("the embedding was not given back: {e:?}")))?;
    let values: Vec<f32> = data
        .convert::<f32>()
        .try_into_vec()
        .map_err(|e| CoreError::Device(format!("the embedding has another type: {e:?}")))?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(CoreError::Device("the embedding is not finite".into()));
    }
    Ok(values.chunks(width).map(<[f32]>::to_vec).collect())
}

impl Captioner {
    /// Make a bundle ready; `bundle` must hold the files of every part but the text tower.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] naming a missing file, a tensor error naming the file's tensor.
    pub fn open(manifest: &[u8], bundle: &BundleFiles, device: &Device) -> Result<Self> {
        let sha256 = sha256_hex(manifest);
        let manifest = Manifest::parse(manifest)?;
        let config = &manifest.model;
        let tensors = bundle.tensors(files::IMAGE)?;
        let model = weights::load(image_model(config, device), &tensors, |_| false)?;
        let width = config.d_embed;
        let space = manifest.geometry;
        let selftest = match manifest
            .files
            .iter()
            .find(|f| f.path == files::SELFTEST_PICTURE)
        {
            Some(_) => {
                let picture = crate::input::decode(bundle.get(files::SELFTEST_PICTURE)?)?;
                let known = bundle.tensors(files::SELFTEST_EMBEDDING)?;
                Some((picture, embedding_rows(&known, 1, width)?.to_vec()))
            }
            None => None,
        };
        Ok(Self {
            info: ModelInfo {
                name: manifest.name,
                version: manifest.version,
                sha256,
            },
            preprocess: manifest.preprocessing,
            index: CaptionIndex::read(bundle, width, &space)?,
            classifier: Classifier::read(bundle, width)?,
            space,
            model,
            device: device.clone(),
            selftest,
        })
    }

    /// Name, version and hash of the bundle.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Space of the embeddings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Texts that photos are captioned with.
    #[must_use]
    pub fn index(&self) -> &CaptionIndex {
        &self.index
    }

    /// Zero-shot classifier of the bundle.
    #[must_use]
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// Embeddings of photos, `[n, d_embed]` row by row.
    ///
    /// Waits for the device without blocking, as a browser demands.
    ///
    /// # Errors
    /// [`CoreError::Image`] for a picture without pixels, [`CoreError::Device`] when the device
    /// fails.
    pub async fn embed(&self, photos: &[RgbImage]) -> Result<Vec<Vec<f32>>> {
        let inputs: Vec<RgbImage> = photos
            .iter()
            .map(|p| self.preprocess.apply(p))
            .collect::<Result<_>>()?;
        let side = self.preprocess.size as usize;
        let planes = TensorData::new(to_planes(&inputs), [inputs.len(), 3, side, side]);
        let images = Tensor::<4>::from_data(planes, &self.device);
        rows(self.model.lift.image(self.model.image.forward(images))).await
    }

    /// Cosine between the stored and the computed embedding of the bundle's test picture; 1 for a
    /// bundle without one. Anything below 0.995 means that this device computes wrongly.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn self_test(&self) -> Result<f32> {
        let Some((picture, known)) = &self.selftest else {
            return Ok(1.0);
        };
        let found = self.embed(std::slice::from_ref(picture)).await?;
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
        let found = &found[0];
        Ok(dot(found, known) / (dot(found, found) * dot(known, known)).sqrt().max(1e-20))
    }

    /// Ladder and taxonomy path of an embedding.
    #[must_use]
    pub fn rank(&self, embedding: &[f32]) -> Caption {
        let path = self.classifier.path(&self.space, embedding);
        let scores = self.index.scores(&self.space, embedding);
        let taxonomy = self.classifier.taxonomy();
        Caption {
            ladder: ladder::climb(&self.index, &scores, taxonomy, &path),
            taxonomy: TaxonomyResult::of(taxonomy, &path),
        }
    }
}

impl TaxonomyResult {
    /// A path with the ids and names of its nodes.
    #[must_use]
    pub fn of(taxonomy: &Taxonomy, path: &TaxonomyPath) -> Self {
        let step = |(ix, p): &(crate::taxonomy::NodeIx, f32)| PathStep {
            id: taxonomy.node(*ix).id.clone(),
            name: taxonomy.name(*ix).to_owned(),
            p: f64::from(*p),
        };
        let path_steps: Vec<PathStep> = path.steps.iter().map(step).collect();
        let stop = path_steps
            .get(path.stop)
            .map_or_else(String::new, |s| s.id.clone());
        Self {
            path: path_steps,
            stop,
        }
    }
}
