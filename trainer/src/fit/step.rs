//! One training step: forward pass, backward pass, gradient clipping, update.

use std::num::NonZeroUsize;
use std::rc::Rc;

use burn::optim::ModuleOptimizer;
use burn::tensor::{Device, Tensor};
use espalier_core::geometry::LogScalar;
use espalier_core::input::TokenBatch;
use espalier_core::model::{DualEncoder, Lift, TextEncoder};
use espalier_data::Batch;
use espalier_data::records::random::{Purpose, Random};
use espalier_io::ranks::{Collective, different_from_most};

use super::exchange::{all_statistics, check_sum, values_of_root};
use super::inputs::{ImageView, StepInputs};
use super::method::{Method, StepContext};
use super::micro_batch::MicroBatching;
use super::optimise::{clip_norm, gradient_norm};
use super::step_encoders::StepEncoders;
use super::text_features::FrozenTexts;
use crate::config::{LossConfig, Trainable};

/// The model, its optimiser and the settings of the training steps.
pub struct Learner {
    /// Model on an autodiff device.
    pub model: DualEncoder,
    /// Optimiser with its state.
    pub optimizer: ModuleOptimizer,
    /// Method.
    pub method: Box<dyn Method>,
    /// Weights of the terms that methods share.
    pub loss_config: LossConfig,
    /// Frozen copy of the text encoder from before training, without autodiff, where the method
    /// needs it.
    pub frozen: Option<TextEncoder>,
    /// Text encoders that the run reads but does not train.
    pub texts: FrozenTexts,
    /// Tokens of the text of the root of chains.
    pub root: TokenBatch,
    /// Device, with autodiff.
    pub device: Device,
    /// Largest gradient norm; 0 for none.
    pub grad_clip_norm: f64,
    /// Share of the patches that the image encoder sees.
    pub patch_keep: f64,
    /// Number of first steps that use images of half the side.
    pub half_steps: u64,
    /// Number of patches of an image.
    pub patches: usize,
    /// Trained parts.
    pub trainable: Trainable,
    /// How a batch is split for the encoders.
    pub micro_batching: MicroBatching,
    /// Number of queries that a contrastive term compares at once.
    pub contrast_rows: NonZeroUsize,
    /// Steps over which the weight of the entailment term grows from 0; 0 for none.
    pub entail_ramp: u64,
    /// Seed for the choice of patches.
    pub seed: u64,
    /// The processes that train together.
    pub ranks: Rc<dyn Collective>,
}

/// Results of a step: named values in a fixed order.
#[derive(Clone, Debug, PartialEq)]
pub struct StepReport {
    /// Loss, terms of the loss, gradient norm.
    pub values: Vec<(String, f64)>,
}

impl StepReport {
    /// Returns a value by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    }

    /// Returns the names of the values that are not finite.
    pub fn not_finite(&self) -> Vec<&str> {
        let values = self.values.iter().filter(|(_, v)| !v.is_finite());
        values.map(|(name, _)| name.as_str()).collect()
    }
}

fn scalar(tensor: Tensor<1>) -> f64 {
    f64::from(tensor.into_scalar::<f32>())
}

impl Learner {
    /// Returns the patches that a step uses, ascending; `None` when it uses all.
    fn patches_at(&self, step: u64) -> Option<Vec<i32>> {
        let count = ((self.patches as f64 * self.patch_keep).round() as usize).max(1);
        if count >= self.patches {
            return None;
        }
        let mut all: Vec<i32> = (0..self.patches as i32).collect();
        Random::new(self.seed, Purpose::Patches, 0, step).shuffle(&mut all);
        all.truncate(count);
        all.sort_unstable();
        Some(all)
    }

    /// Returns the encoders of one step.
    fn encoders(&self, batching: MicroBatching) -> StepEncoders<'_> {
        let text_layers = self.texts.layers.as_ref();
        let ranks = &*self.ranks;
        StepEncoders::new(&self.model, self.trainable, batching, text_layers, ranks)
    }

    /// Trains on one batch at learning rate `lr`.
    ///
    /// When a value is not finite, the model stays unchanged, so that the last good weights can be
    /// saved; see [`StepReport::not_finite`].
    ///
    /// # Errors
    /// If the batch has not what the method needs.
    pub fn step(mut self, batch: &Batch, step: u64, lr: f64) -> anyhow::Result<(Self, StepReport)> {
        self.model = self.model.clamped();
        let ramp = match step < self.entail_ramp {
            true => step as f64 / self.entail_ramp as f64,
            false => 1.0,
        };
        let ranks = Rc::clone(&self.ranks);
        let encoders = self.encoders(self.micro_batching);
        let view = ImageView {
            patches: self.patches_at(step),
            halved: step < self.half_steps,
        };
        let (total, mut values) = self.loss(batch, view, &encoders, ramp)?;
        let grads = encoders.gradient(total.backward());
        let norm = gradient_norm(&self.model, &grads);
        values.push(("grad_norm".to_owned(), norm));
        values_of_root(&*ranks, &mut values);
        let norm = values.last().map_or(norm, |(_, agreed)| *agreed);
        let grads = clip_norm(&self.model, grads, norm, self.grad_clip_norm);
        let report = StepReport { values };
        if report.not_finite().is_empty() {
            self.model = self.optimizer.step(lr, self.model, grads);
            all_statistics(&*ranks, &self.model.image.visual);
            self.model.image.visual = self.model.image.visual.with_merged_statistics();
        } else {
            self.model.image.visual.discard_statistics();
        }
        Ok((self, report))
    }

    /// Computes the loss on a batch with all patches and the full weight of the entailment term,
    /// without training.
    ///
    /// # Errors
    /// If the batch has not what the method needs.
    pub fn evaluate(&self, batch: &Batch) -> anyhow::Result<StepReport> {
        // With several accumulation steps no graph is kept.
        let micro_batching = MicroBatching {
            passes: self.micro_batching.passes.max(2),
            ..self.micro_batching
        };
        let encoders = self.encoders(micro_batching);
        let (_, mut values) = self.loss(batch, ImageView::default(), &encoders, 1.0)?;
        values_of_root(&*self.ranks, &mut values);
        Ok(StepReport { values })
    }

    /// Returns the ranks whose weights are not those of most ranks.
    pub fn different_ranks(&self) -> Vec<usize> {
        let own = check_sum(&self.model).to_le_bytes();
        let all = self.ranks.all_gather_bytes(&own).into_iter();
        let sums = all.map(|bytes| bytes.try_into().map_or(0, u32::from_le_bytes));
        different_from_most(&sums.collect::<Vec<u32>>())
    }

    /// Computes the loss of a batch; also returns the values of the loss and its terms by name.
    fn loss(
        &self,
        batch: &Batch,
        view: ImageView,
        encoders: &StepEncoders<'_>,
        entail_ramp: f64,
    ) -> anyhow::Result<(Tensor<1>, Vec<(String, f64)>)> {
        let inputs = StepInputs::new(batch, view, &self.root, &self.device);
        let loss = self.method.loss(&StepContext {
            model: &self.model,
            encoders,
            frozen: self.frozen.as_ref(),
            inputs: &inputs,
            loss_config: &self.loss_config,
            contrast_rows: self.contrast_rows,
            entail_ramp,
        })?;
        let loss = match &self.texts.teacher {
            Some(teacher) => teacher.with_targets(loss, encoders.encoded_texts()),
            None => loss,
        };
        let mut values = vec![("loss".to_owned(), scalar(loss.total.clone().inner()))];
        let terms = loss.named.into_iter();
        values.extend(terms.map(|(name, t)| (name.to_owned(), scalar(t))));
        Ok((loss.total, values))
    }

    /// Returns the learned scalars by name.
    pub fn scalars(&self) -> Vec<(&'static str, f64)> {
        // The mean over the factors of a product space.
        let value = |s: &LogScalar| scalar(s.value().inner().mean());
        let mut out = vec![("logit_scale", value(&self.model.logit_scale))];
        let (curv, visual, textual) = match &self.model.lift {
            Lift::Sphere(_) => return out,
            Lift::Lorentz(l) => (&l.curv, &l.visual_alpha, &l.textual_alpha),
            Lift::Product(p) => (&p.curvs, &p.visual_alphas, &p.textual_alphas),
        };
        out.push(("curv", value(curv)));
        out.push(("visual_alpha", value(visual)));
        out.push(("textual_alpha", value(textual)));
        out
    }
}
