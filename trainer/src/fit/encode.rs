//! The frozen image encoder that computes features, and the kept features of a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Context;
use burn::module::Module;
use burn::tensor::Device;
use espalier_core::input::Preprocess;
use espalier_core::model::{DualConfig, DualEncoder, ImageEncoder};
use espalier_core::weights;
use sha2::{Digest, Sha256};

use super::plan::Run;
use super::source::Source;
use crate::config::Needs;
use crate::data::batches::feature_rows::FeatureRows;
use crate::data::features::{Encoder, Keeping, KeptData, ViewSpec, keep, keep_outliers};
use crate::data::{BatchSpec, Pictures};
use crate::disk::cache::cache_folder;
use crate::model_file::{self, ModelCard};
use crate::tensors::picture_tensor;

/// An image encoder without its projection, in evaluation mode.
pub(super) struct LockedEncoder {
    image: ImageEncoder,
    device: Device,
    threads: usize,
    width: usize,
    identity: String,
}

impl LockedEncoder {
    /// Creates the encoder of a model on `device`, which has no autodiff; `threads` share a batch.
    fn new(
        model: &DualEncoder,
        config: &DualConfig,
        device: &Device,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let image = model.image.valid();
        let mut hash = Sha256::new();
        // Pooled features do not depend on the projection.
        for (name, tensor) in weights::collect(&image)?.tensors {
            if name.starts_with("visual_proj") {
                continue;
            }
            hash.update(format!("{name} {:?} ", tensor.shape));
            for value in tensor.data {
                hash.update(value.to_le_bytes());
            }
        }
        let [width, _] = image.visual_proj.weight.dims();
        // Two architectures can have the same tensors and differ in their settings.
        hash.update(serde_json::to_string(&config.vision)?);
        Ok(Self {
            image,
            device: device.clone(),
            threads: threads.max(1),
            width,
            identity: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
        })
    }
}

impl Encoder for LockedEncoder {
    fn width(&self) -> usize {
        self.width
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn encode(&self, pictures: &Pictures) -> anyhow::Result<Vec<f32>> {
        let all = picture_tensor(pictures, &self.device);
        let share = |at: usize| pictures.count * at / self.threads;
        let one = |at: usize| -> anyhow::Result<Vec<f32>> {
            let (from, to) = (share(at), share(at + 1));
            if from == to {
                return Ok(Vec::new());
            }
            let pooled = self.image.pooled(all.clone().narrow(0, from, to - from));
            let data = pooled.into_data().convert::<f32>().try_into_vec::<f32>();
            data.map_err(|e| anyhow::anyhow!("features cannot be read back: {e:?}"))
        };
        if self.threads == 1 {
            return one(0);
        }
        thread::scope(|scope| {
            let one = &one;
            let running: Vec<_> = (0..self.threads)
                .map(|at| scope.spawn(move || one(at)))
                .collect();
            let mut values = Vec::with_capacity(pictures.count * self.width);
            for thread in running {
                let part = thread.join().ok().context("the image encoder failed")?;
                values.extend(part?);
            }
            Ok(values)
        })
    }
}

/// How the features of a run are computed.
pub(super) struct Pass<'a> {
    /// How batches of images would be made.
    pub(super) spec: &'a BatchSpec,
    /// Largest number of records, for a rehearsal.
    pub(super) most: Option<u64>,
    /// Set when the run is interrupted.
    pub(super) stop: &'a AtomicBool,
}

/// The features of a run.
pub(super) struct RunFeatures {
    /// The training data.
    pub(super) train: KeptData,
    /// The validation data.
    pub(super) validation: Option<KeptData>,
    /// Features of outlier images, where the loss uses them.
    pub(super) outliers: Option<Arc<FeatureRows>>,
}

impl RunFeatures {
    /// How batches of kept features are made: without augmentation.
    pub(super) fn spec(rows: &Arc<FeatureRows>, spec: BatchSpec) -> BatchSpec {
        BatchSpec {
            features: Some(Arc::clone(rows)),
            augment: None,
            mirror: false,
            worn: 0.0,
            ..spec
        }
    }
}

/// Describes the features of the training data.
fn summary(train: &KeptData, views: usize, folder: &Path) -> String {
    format!(
        "features of {} photos and crops, {views} views of each: {} computed now, {} computed \
         before; kept in {}",
        train.rows.count() / views,
        train.computed,
        train.rows.count() - train.computed,
        folder.display()
    )
}

impl Run {
    /// Returns whether the run keeps features; says why not where the image encoder is locked.
    fn keeps_features(
        &self,
        say: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        let t = &self.config.train;
        if !t.lock_image {
            return Ok(false);
        }
        if let Some(why) = self.config.fresh_pictures() {
            say(&format!(
                "the locked image encoder computes features at every step: {why}"
            ))?;
            return Ok(false);
        }
        Ok(t.keep_features)
    }

    /// Computes or reads the features of all images of the run, where the run keeps them.
    pub(super) fn features(
        &self,
        model: &DualEncoder,
        card: &ModelCard,
        pass: &Pass<'_>,
        say: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<RunFeatures>> {
        let (t, d) = (&self.config.train, &self.config.dataset);
        let Pass { spec, most, stop } = *pass;
        if !self.keeps_features(say)? {
            return Ok(None);
        }
        let encoder = LockedEncoder::new(model, &card.config, &self.device, self.pieces().threads)?;
        let own = card.origin.as_ref().map(|origin| origin.preprocess);
        let folder = t
            .feature_cache
            .clone()
            .unwrap_or_else(|| cache_folder("features"));
        let keeping = |views: u32, most: Option<u64>| Keeping {
            encoder: &encoder,
            views: ViewSpec {
                evaluation: Preprocess {
                    size: spec.image_size,
                    ..own.unwrap_or_else(|| model_file::preprocess(&card.config))
                },
                views,
                augmented: spec.clone(),
            },
            crops: spec.needs == Needs::Boxes,
            // A rehearsal writes nothing, but uses existing files.
            folder: Some(folder.clone()),
            writes: most.is_none(),
            most,
            stop,
        };
        let train = keep(&self.source.data, &keeping(d.feature_views, most), say)?;
        let of_validation = |source: &Source, say: &mut dyn FnMut(&str) -> anyhow::Result<()>| {
            keep(&source.data, &keeping(1, most), say)
        };
        let validation = match &self.validation {
            Some(source) if most.is_none() => Some(of_validation(source, say)?),
            _ => None,
        };
        let outliers = if self.config.loss.nothing > 0.0 {
            let folder = most.is_none().then_some(&*folder);
            Some(keep_outliers(&encoder, spec.image_size, folder)?)
        } else {
            None
        };
        say(&summary(&train, d.feature_views as usize, &folder))?;
        Ok(Some(RunFeatures {
            train,
            validation,
            outliers,
        }))
    }
}
