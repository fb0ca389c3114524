//! Training steps.

use std::num::NonZeroUsize;
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use espalier_core::input::TokenBatch;
use espalier_core::model::{DualConfig, DualEncoder};
use espalier_core::weights::load;
use espalier_trainer::config::{MethodName, Precision, TrainConfig, Trainable};
use espalier_trainer::data::records::random::{Purpose, Random};
use espalier_trainer::data::{
    Batch, BatchContent, BrokenCounts, ImageBatch, ImageRows, Pixels, Position,
};
use espalier_trainer::first_weights;
use espalier_trainer::fit::micro_batch::MicroBatching;
use espalier_trainer::fit::optimise::{optimizer, with_stable_ids};
use espalier_trainer::fit::step::Learner;
use espalier_trainer::fit::text_features::FrozenTexts;
use espalier_trainer::ranks::Single;
use serde_json::{Value, json};

use super::clock::timed;
use super::models::{ModelName, Models};

/// Tokens of a caption and of a phrase, start and end included: what they have on average.
const TOKENS: [usize; 2] = [16, 6];

/// Learning rate. Adam's first steps are as long for small gradients as for large ones, so that they
/// carry rounding errors into the weights; a low rate keeps the losses of all backends together.
pub const RATE: f64 = 2e-5;

/// A model in training and its batch.
pub struct Training {
    name: ModelName,
    pub samples: usize,
    pub batch: Batch,
    /// Absent during a step, which takes the learner and returns the next one.
    pub learner: Option<Learner>,
    step: u64,
}

impl Training {
    /// Builds a model with random weights and a batch of `samples`, each an image and a box.
    pub fn new(
        models: &Models,
        name: &ModelName,
        samples: usize,
        (pieces, device): (usize, &Device),
    ) -> Result<Self> {
        let architecture = models.config(name)?;
        Ok(Self {
            name: name.clone(),
            samples,
            batch: random_batch(&architecture, samples),
            learner: Some(new_learner(&architecture, pieces, device)?),
            step: 0,
        })
    }

    /// Returns whether this trains this model with this batch size.
    pub fn is_of(&self, name: &ModelName, samples: usize) -> bool {
        (&self.name, self.samples) == (name, samples)
    }

    /// Measures steps.
    pub fn measure(&mut self, seconds: f64) -> Result<Value> {
        let mut figures = timed(seconds, 2 * self.samples, || self.step().map(drop))?;
        let learner = self.learner.as_ref().context("no learner after a step")?;
        figures["parameters"] = json!(learned(&learner.model));
        Ok(figures)
    }

    /// Returns the losses of some steps from random weights, the same ones on every device.
    pub fn losses(mut self, steps: usize) -> Result<Value> {
        let losses: Vec<f64> = (0..steps).map(|_| self.step()).collect::<Result<_>>()?;
        Ok(json!({ "losses": losses }))
    }

    /// Does a step; returns its loss.
    fn step(&mut self) -> Result<f64> {
        let learner = self.learner.take().context("no learner before a step")?;
        let (next, report) = learner.step(&self.batch, self.step, RATE)?;
        let wrong = report.not_finite();
        ensure!(wrong.is_empty(), "not finite: {wrong:?}");
        (self.learner, self.step) = (Some(next), self.step + 1);
        report.get("loss").context("a step without a loss")
    }
}

/// Returns random images, boxes and texts of the shapes that a real batch has.
fn random_batch(architecture: &DualConfig, samples: usize) -> Batch {
    let (size, vocabulary) = (
        architecture.vision.image_size,
        architecture.text.vocab_size as u32,
    );
    let mut random = Random::new(0, Purpose::Synthetic, 0, 0);
    let mut images = || {
        ImageBatch::Pixels(Pixels {
            count: samples,
            size,
            bytes: (0..samples * 3 * size * size)
                .map(|_| random.below(256) as u8)
                .collect(),
        })
    };
    let (images, boxes) = (images(), images());
    let mut texts = |len: usize| {
        let inner = |random: &mut Random| random.below(vocabulary - 2);
        let row = |random: &mut Random| {
            let mut ids = vec![vocabulary - 2];
            ids.extend((2..len).map(|_| inner(random)));
            ids.push(vocabulary - 1);
            ids
        };
        let ids = (0..samples).flat_map(|_| row(&mut random)).collect();
        TokenBatch {
            ids,
            rows: samples,
            len,
        }
    };
    Batch {
        images,
        image_rows: ImageRows {
            first: 0,
            total: samples,
        },
        captions: texts(TOKENS[0]),
        content: BatchContent::Boxed {
            images: boxes,
            phrases: texts(TOKENS[1]),
        },
        labels: None,
        order: None,
        nouns: None,
        anchors: None,
        shards: vec![0; samples],
        keys: (0..samples).map(|i| i.to_string()).collect(),
        synsets: vec![None; samples],
        position_after: Position::default().into(),
        skipped: BrokenCounts::default(),
    }
}

/// Returns a learner as `trainer fit` creates it, with its default optimiser.
fn new_learner(architecture: &DualConfig, pieces: usize, device: &Device) -> Result<Learner> {
    let defaults = TrainConfig::resolve(None, toml::Table::new(), &[])?;
    let device = device.clone().autodiff();
    let weights = first_weights(architecture, 0)?;
    let model = load(architecture.init(&device), weights)?;
    Ok(Learner {
        model: with_stable_ids(model),
        optimizer: optimizer(&defaults.optim)?,
        method: MethodName::Hycoclip.build(&defaults.loss),
        loss_config: defaults.loss.clone(),
        frozen: None,
        texts: FrozenTexts::default(),
        root: TokenBatch::default(),
        device,
        grad_clip_norm: defaults.optim.grad_clip_norm,
        contrast_rows: NonZeroUsize::MAX,
        entail_ramp: 0,
        patch_keep: 1.0,
        patches: architecture.vision.patches(),
        half_steps: 0,
        trainable: Trainable::ALL,
        micro_batching: MicroBatching {
            threads: pieces,
            passes: 1,
            precision: Precision::Fp32,
            checkpointing: false,
        },
        seed: 0,
        ranks: Rc::new(Single),
    })
}

/// Returns the number of parameters that are learned.
fn learned(model: &DualEncoder) -> usize {
    struct Count(usize);
    impl ModuleVisitor for Count {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if param.val().is_require_grad() {
                self.0 += param.shape().num_elements();
            }
        }
    }
    let mut count = Count(0);
    model.visit(&mut count);
    count.0
}
