//! Time of the parts of a training step.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use espalier_core::loss::{self, HycoclipPoints, HycoclipWeights};
use espalier_core::model::{DualEncoder, Lift};
use espalier_trainer::data::Batch;
use espalier_trainer::fit::inputs::{ImageTensor, ImageView, StepContent, StepInputs};
use espalier_trainer::fit::optimise::{clip_norm, gradient_norm};
use espalier_trainer::fit::step::Learner;
use serde_json::{Value, json};

use super::clock::median;
use super::training::{RATE, Training};

/// Seconds of each part in all steps, in the order of the step.
struct Parts {
    found: Vec<(&'static str, Vec<f64>)>,
    since: Instant,
}

impl Parts {
    /// Ends a part and begins the next one.
    fn end(&mut self, name: &'static str) {
        let seconds = self.since.elapsed().as_secs_f64();
        match self.found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.push(seconds),
            None => self.found.push((name, vec![seconds])),
        }
        self.since = Instant::now();
    }
}

/// Returns the median milliseconds of the parts of a step, in their order, as [`Learner::step`] and
/// the HyCoCLIP method put them together, but without micro-batches. This backend computes at once,
/// so each part waits for its own work.
pub fn measure(training: Training, seconds: f64) -> Result<Value> {
    let mut learner = training.learner.context("no learner before a step")?;
    let mut parts = Parts {
        found: Vec::new(),
        since: Instant::now(),
    };
    let begun = Instant::now();
    for repeat in 0.. {
        // The first step is not counted.
        if repeat == 1 {
            parts.found.clear();
        }
        if repeat > 2 && begun.elapsed().as_secs_f64() > seconds {
            break;
        }
        parts.since = Instant::now();
        learner = step(learner, &training.batch, training.samples, &mut parts)?;
    }
    let parts = parts.found.into_iter();
    let parts = parts
        .map(|(name, seconds)| json!({ "part": name, "milliseconds": 1e3 * median(&seconds) }));
    Ok(Value::Array(parts.collect()))
}

fn step(mut learner: Learner, batch: &Batch, samples: usize, parts: &mut Parts) -> Result<Learner> {
    learner.model = learner.model.clamped();
    parts.end("clamp the scalars");
    let inputs = StepInputs::new(batch, ImageView::default(), &learner.root, &learner.device);
    parts.end("batch to tensors");
    let model = &learner.model;
    let points = embed(model, &inputs, samples, parts)?;
    let loss = total_loss(model, &points)?;
    let _ = loss.clone().inner().into_scalar::<f32>();
    parts.end("loss, forward");
    let grads = loss.backward();
    parts.end("backward");
    let grads = GradientsParams::from_grads(grads, model);
    let norm = gradient_norm(model, &grads);
    let grads = clip_norm(model, grads, norm, learner.grad_clip_norm);
    parts.end("gradient norm and clipping");
    learner.model = learner.optimizer.step(RATE, learner.model, grads);
    parts.end("AdamW");
    Ok(learner)
}

/// Returns the points of the images, crops and texts.
fn embed(
    model: &DualEncoder,
    inputs: &StepInputs,
    samples: usize,
    parts: &mut Parts,
) -> Result<HycoclipPoints<2>> {
    let (
        ImageTensor::Pixels(images),
        StepContent::Boxed {
            images: ImageTensor::Pixels(boxes),
            phrases,
        },
    ) = (&inputs.images, &inputs.content)
    else {
        bail!("expected a batch of images with boxes, found {inputs:?}")
    };
    let both = Tensor::cat(vec![images.held.clone(), boxes.held.clone()], 0);
    let images = model.embed_image(both);
    parts.end("image encoder, forward");
    let text = model.embed_text(&inputs.captions);
    let box_text = model.embed_text(phrases);
    parts.end("text encoder, forward");
    Ok(HycoclipPoints {
        image: images.clone().narrow(0, 0, samples),
        text,
        box_image: images.narrow(0, samples, samples),
        box_text,
    })
}

fn total_loss(model: &DualEncoder, points: &HycoclipPoints<2>) -> Result<Tensor<1>> {
    let Lift::Lorentz(lift) = &model.lift else {
        bail!("expected a model with a Lorentz space, found another space")
    };
    let weights = HycoclipWeights::default();
    Ok(loss::hycoclip(points, lift.curv.row(), model.logit_scale.value(), weights).total)
}
