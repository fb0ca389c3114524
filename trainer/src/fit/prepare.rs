//! Prepares the steps of a run: the model, the data with its cached features, and the texts. A run and a dry run use the
//! same functions.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use burn::optim::ModuleOptimizer;
use espalier_checkpoints::model_file::{ModelCard, vocabulary};
use espalier_core::input::Tokenizer;
use espalier_core::model::{DualConfig, DualEncoder, TextEncoder};
use espalier_data::batches::feature_rows::FeatureRows;
use espalier_data::records::order::records_of_epoch;
use espalier_data::{BatchSpec, Dataset};

use super::encode::{FeaturePass, RunFeatures};
use super::plan::Run;
use super::source::Source;
use super::step::Learner;
use super::texts::StepTexts;

/// The model before the first step, and how batches are made.
pub(super) struct Initialised {
    /// How batches are made, from images.
    pub(super) spec: BatchSpec,
    /// Number of steps of the run.
    pub(super) total: u64,
    tokenizer: Arc<Tokenizer>,
    card: ModelCard,
    /// The model, and a frozen copy of its text encoder where the method needs one.
    model: (DualEncoder, Option<TextEncoder>),
}

/// All that the steps of a run need.
pub(super) struct Prepared {
    pub(super) tokenizer: Arc<Tokenizer>,
    /// Card of the model before the first step.
    pub(super) card: ModelCard,
    pub(super) learner: Learner,
    pub(super) texts: StepTexts,
    pub(super) training: TrainingData,
}

/// Data that batches are made from: images, or their cached features.
pub(super) struct TrainingData {
    pub(super) data: Arc<dyn Dataset>,
    pub(super) spec: BatchSpec,
    pub(super) validation: Option<(Arc<dyn Dataset>, BatchSpec)>,
    /// Features of the training data, if they are cached.
    pub(super) rows: Option<Arc<FeatureRows>>,
    pub(super) outliers: Option<Arc<FeatureRows>>,
}

impl TrainingData {
    fn new(run: &Run, spec: BatchSpec, features: Option<RunFeatures>) -> Self {
        let with_lineages = |source: &Source| {
            let mut spec = spec.clone();
            spec.lineages = source.lineages.clone();
            (Arc::clone(&source.data), spec)
        };
        let validation = run.validation.as_ref().map(with_lineages);
        let Some(features) = features else {
            return Self {
                data: Arc::clone(&run.source.data),
                spec,
                validation,
                rows: None,
                outliers: None,
            };
        };
        let validation = features.validation.zip(validation);
        Self {
            data: features.train.data,
            rows: Some(Arc::clone(&features.train.rows)),
            spec: with_features(spec, &features.train.rows),
            validation: validation
                .map(|(cached, (_, spec))| (cached.data, with_features(spec, &cached.rows))),
            outliers: features.outliers,
        }
    }
}

/// Returns the settings for batches of cached features: without augmentation.
fn with_features(spec: BatchSpec, rows: &Arc<FeatureRows>) -> BatchSpec {
    BatchSpec {
        features: Some(Arc::clone(rows)),
        augment: None,
        mirror: false,
        corruption: 0.0,
        ..spec
    }
}

impl Run {
    /// Reads or initialises the model.
    pub(super) fn initialise(&self) -> anyhow::Result<Initialised> {
        let architecture = self.architecture();
        architecture.validate()?;
        let text = &architecture.text;
        let tokenizer = text.tokenizer(vocabulary(text))?;
        let mut card = self.card(&architecture)?;
        let model = self.build(&architecture, &mut card)?;
        Ok(Initialised {
            spec: self.spec(&architecture),
            total: self.total_steps(records_of_epoch(self.source.data.as_ref())),
            tokenizer: Arc::new(tokenizer),
            card,
            model,
        })
    }

    /// Computes the features that the run caches, of at most `max_records` records, and prepares texts and data.
    /// `log` receives lines about it; `stop` ends it early.
    pub(super) fn prepare(
        &self,
        initialised: Initialised,
        optimizer: ModuleOptimizer,
        max_records: Option<u64>,
        stop: &AtomicBool,
        log: &mut dyn FnMut(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Prepared> {
        let Initialised {
            spec,
            total,
            tokenizer,
            card,
            model,
        } = initialised;
        let pass = FeaturePass {
            spec: &spec,
            max_records,
            stop,
        };
        // Rank 0 computes the features before the others, which then find them in the cache.
        if !self.ranks.is_root() {
            self.ranks.barrier();
        }
        let features = self.features(&model.0, &card, &pass, log)?;
        if self.ranks.is_root() {
            self.ranks.barrier();
        }
        // Until here, ranks wait for the features without a limit.
        self.ranks
            .set_time_limit(Duration::from_secs(self.config.train.rank_timeout));
        let training = TrainingData::new(self, spec, features);
        let teacher = self.teacher(training.rows.as_deref(), log)?;
        let outliers = training.outliers.clone();
        let taxonomy = &self.source.taxonomy;
        Ok(Prepared {
            texts: StepTexts::new(taxonomy, &tokenizer, &self.config, outliers, teacher)?,
            learner: self.learner(model, optimizer, &tokenizer, total)?,
            training,
            tokenizer,
            card,
        })
    }

    /// Returns the model card of the run before its first step.
    fn card(&self, architecture: &DualConfig) -> anyhow::Result<ModelCard> {
        Ok(ModelCard {
            run: self.config.to_toml()?,
            root_text: self.method().root_text().unwrap_or_default().to_owned(),
            ..ModelCard::new(architecture.clone(), self.config.train.method.name())
        })
    }
}
