//! The frozen image encoder that computes features, and the cached features of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::module::Module;
use burn::tensor::Device;
use espalier_checkpoints::model_file::ModelCard;
use espalier_core::input::Preprocess;
use espalier_core::model::{DualConfig, DualEncoder};
use espalier_data::batches::feature_rows::FeatureRows;
use espalier_data::features::{
    Encoder, PrecomputeSettings, PrecomputedFeatures, ViewSpec, precompute, precompute_outliers,
};
use espalier_data::{BatchSpec, Needs, Pixels};
use espalier_eval::{PooledEncoder, encoder_identity};
use espalier_io::disk::cache::cache_folder;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::plan::Run;

/// The frozen image encoder of a run.
struct LockedEncoder {
    image: PooledEncoder,
    /// Threads that share a batch.
    pool: ThreadPool,
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
        Ok(Self {
            identity: encoder_identity::of(&image, config)?,
            image: PooledEncoder::new(&image, config, device)?,
            pool: ThreadPoolBuilder::new().num_threads(threads).build()?,
        })
    }
}

impl Encoder for LockedEncoder {
    fn width(&self) -> usize {
        self.image.width()
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn encode(&self, images: &Pixels) -> anyhow::Result<Vec<f32>> {
        self.pool.install(|| self.image.encode(images))
    }
}

/// Settings for computing the features of a run.
pub(super) struct FeaturePass<'a> {
    /// How batches are made, from images.
    pub(super) spec: &'a BatchSpec,
    /// Largest number of records, for a dry run.
    pub(super) max_records: Option<u64>,
    /// Set when the run is interrupted.
    pub(super) stop: &'a AtomicBool,
}

/// The features of a run.
pub(super) struct RunFeatures {
    pub(super) train: PrecomputedFeatures,
    pub(super) validation: Option<PrecomputedFeatures>,
    /// Features of outlier images, where the loss uses them.
    pub(super) outliers: Option<Arc<FeatureRows>>,
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
    /// Returns the folder of cached features.
    pub(super) fn feature_folder(&self) -> PathBuf {
        let chosen = self.config.train.feature_cache.clone();
        chosen.unwrap_or_else(|| cache_folder("features"))
    }

    /// Computes or reads the features of all images of the run, where the run caches them.
    pub(super) fn features(
        &self,
        model: &DualEncoder,
        card: &ModelCard,
        pass: &FeaturePass<'_>,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<RunFeatures>> {
        let d = &self.config.dataset;
        let (spec, max_records) = (pass.spec, pass.max_records);
        if self.config.train.lock_image
            && let Some(reason) = self.config.cache_obstacle()
        {
            log(&format!(
                "the locked image encoder computes features at every step: {reason}"
            ))?;
        }
        if !self.config.caches_features() {
            return Ok(None);
        }
        let threads = self.micro_batching().threads;
        let encoder = LockedEncoder::new(model, &card.config, &self.device, threads)?;
        let folder = self.feature_folder();
        let settings = |views: u32| PrecomputeSettings {
            encoder: &encoder,
            views: ViewSpec {
                evaluation: Preprocess {
                    size: spec.image_size,
                    ..card.preprocess()
                },
                views,
                augmented: spec.clone(),
            },
            crops: spec.needs == Needs::Boxes,
            folder: Some(folder.clone()),
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
        let train = precompute(&self.source.data, &settings(d.feature_views), log)?;
        let validation = match &self.validation {
            Some(source) if max_records.is_none() => {
                Some(precompute(&source.data, &settings(1), log)?)
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
