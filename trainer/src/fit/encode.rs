//! The frozen image encoder that computes features, and the cached features of a run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::Context;
use burn::module::Module;
use burn::tensor::Device;
use espalier_checkpoints::model_file::{self, ModelCard};
use espalier_core::input::Preprocess;
use espalier_core::model::{DualConfig, DualEncoder, ImageEncoder};
use espalier_data::Needs;
use espalier_data::batches::feature_rows::FeatureRows;
use espalier_data::features::{
    Encoder, PrecomputeSettings, PrecomputedFeatures, ViewSpec, precompute, precompute_outliers,
};
use espalier_data::{BatchSpec, Pictures};
use espalier_eval::encoder_identity;
use espalier_eval::tensors::picture_tensor;
use espalier_io::disk::cache::cache_folder;

use super::plan::Run;

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
        let [width, _] = image.visual_proj.weight.dims();
        Ok(Self {
            identity: encoder_identity::of(&image, config)?,
            image,
            device: device.clone(),
            threads: threads.max(1),
            width,
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
        let start = |thread: usize| pictures.count * thread / self.threads;
        let encode_share = |thread: usize| -> anyhow::Result<Vec<f32>> {
            let (from, to) = (start(thread), start(thread + 1));
            if from == to {
                return Ok(Vec::new());
            }
            let pooled = self.image.pooled(all.clone().narrow(0, from, to - from));
            let data = pooled.into_data().convert::<f32>().try_into_vec::<f32>();
            data.map_err(|e| anyhow::anyhow!("features cannot be read back: {e:?}"))
        };
        if self.threads == 1 {
            return encode_share(0);
        }
        thread::scope(|scope| {
            let encode_share = &encode_share;
            let running: Vec<_> = (0..self.threads)
                .map(|thread| scope.spawn(move || encode_share(thread)))
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

/// Settings for computing the features of a run.
pub(super) struct FeaturePass<'a> {
    /// Settings for batches of images.
    pub(super) spec: &'a BatchSpec,
    /// Largest number of records, for a dry run.
    pub(super) max_records: Option<u64>,
    /// Set when the run is interrupted.
    pub(super) stop: &'a AtomicBool,
}

/// The features of a run.
pub(super) struct RunFeatures {
    /// The training data.
    pub(super) train: PrecomputedFeatures,
    /// The validation data.
    pub(super) validation: Option<PrecomputedFeatures>,
    /// Features of outlier images, where the loss uses them.
    pub(super) outliers: Option<Arc<FeatureRows>>,
}

impl RunFeatures {
    /// Returns the settings for batches of cached features: without augmentation.
    pub(super) fn spec(rows: &Arc<FeatureRows>, spec: BatchSpec) -> BatchSpec {
        BatchSpec {
            features: Some(Arc::clone(rows)),
            augment: None,
            mirror: false,
            corruption: 0.0,
            ..spec
        }
    }
}

/// Describes the features of the training data.
fn summary(train: &PrecomputedFeatures, views: usize, folder: &Path) -> String {
    format!(
        "features of {} photos and crops, {views} views of each: {} computed, {} read from \
         the cache; cached in {}",
        train.rows.count() / views,
        train.computed,
        train.rows.count() - train.computed,
        folder.display()
    )
}

impl Run {
    /// Returns whether the run caches features; logs the reason if a locked encoder has to compute
    /// them at every step.
    fn caches_features(
        &self,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        let t = &self.config.train;
        if !t.lock_image {
            return Ok(false);
        }
        if let Some(reason) = self.config.cache_obstacle() {
            log(&format!(
                "the locked image encoder computes features at every step: {reason}"
            ))?;
            return Ok(false);
        }
        Ok(t.keep_features)
    }

    /// As [`features`](Self::features), on rank 0 before the others, which then find the features in
    /// the cache.
    pub(super) fn features_in_turn(
        &self,
        model: &DualEncoder,
        card: &ModelCard,
        pass: &FeaturePass<'_>,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<RunFeatures>> {
        if !self.ranks.is_root() {
            self.ranks.barrier();
        }
        let features = self.features(model, card, pass, log)?;
        if self.ranks.is_root() {
            self.ranks.barrier();
        }
        Ok(features)
    }

    /// Computes or reads the features of all images of the run, where the run caches them.
    fn features(
        &self,
        model: &DualEncoder,
        card: &ModelCard,
        pass: &FeaturePass<'_>,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<RunFeatures>> {
        let (t, d) = (&self.config.train, &self.config.dataset);
        let (spec, max_records) = (pass.spec, pass.max_records);
        if !self.caches_features(log)? {
            return Ok(None);
        }
        let threads = self.micro_batching().threads;
        let encoder = LockedEncoder::new(model, &card.config, &self.device, threads)?;
        let imported = card.origin.as_ref().map(|origin| origin.preprocess);
        let folder = t
            .feature_cache
            .clone()
            .unwrap_or_else(|| cache_folder("features"));
        let settings = |views: u32, max_records: Option<u64>| PrecomputeSettings {
            encoder: &encoder,
            views: ViewSpec {
                evaluation: Preprocess {
                    size: spec.image_size,
                    ..imported.unwrap_or_else(|| model_file::preprocess(&card.config))
                },
                views,
                augmented: spec.clone(),
            },
            crops: spec.needs == Needs::Boxes,
            // A dry run reads existing files but writes none.
            folder: Some(folder.clone()),
            writes: max_records.is_none(),
            max_records,
            stop: pass.stop,
        };
        let records = self.source.data.records();
        let samples = self.total_steps(records) * self.config.samples_of_step() as u64;
        if samples < records && max_records.is_none() {
            log(&format!(
                "features of all {records} records are computed first, and the run reads {samples}: for a short run name \
                 fewer files, or give train.keep_features=false"
            ))?;
        }
        let training_views = settings(d.feature_views, max_records);
        let train = precompute(&self.source.data, &training_views, log)?;
        let validation = match &self.validation {
            Some(source) if max_records.is_none() => {
                Some(precompute(&source.data, &settings(1, max_records), log)?)
            }
            _ => None,
        };
        let outliers = if self.config.loss.outliers > 0.0 {
            let folder = max_records.is_none().then_some(&*folder);
            Some(precompute_outliers(&encoder, spec.image_size, folder)?)
        } else {
            None
        };
        log(&summary(&train, d.feature_views as usize, &folder))?;
        Ok(Some(RunFeatures {
            train,
            validation,
            outliers,
        }))
    }
}
