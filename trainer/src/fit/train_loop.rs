//! The training loop: steps, reports, checkpoints and the end of the run.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::bail;
use espalier_checkpoints::model_file::ModelCard;
use espalier_data::{Batch, BatchStream};

use super::average::Average;
use super::checkpoint::{self, Content, State};
use super::plan::{FitOutcome, Run};
use super::report::{Line, Reporter, clock};
use super::shared_batches::{list, next_batch};
use super::step::{Learner, StepReport};
use super::summary;
use super::texts::StepTexts;
use super::validate::Validation;
use crate::memory;

/// A run in progress.
pub(super) struct TrainLoop<'a> {
    pub(super) run: &'a Run,
    pub(super) learner: Learner,
    /// Average of the weights, if the run keeps one.
    pub(super) average: Option<Average>,
    pub(super) state: State,
    pub(super) card: ModelCard,
    /// Content of the classifier file that is copied into every checkpoint, if there is one.
    pub(super) classifier: Option<Vec<u8>>,
    pub(super) stream: BatchStream,
    pub(super) texts: StepTexts,
    pub(super) validation: Option<Validation>,
    pub(super) report: Reporter,
    /// Steps of the whole run.
    pub(super) total: u64,
    /// Last checkpoint.
    pub(super) saved: Option<PathBuf>,
    /// Records skipped since the process began.
    pub(super) skipped: u64,
    /// Steps completed before the process began.
    pub(super) steps_before: u64,
}

impl TrainLoop<'_> {
    /// Trains to the last step, or until `stop` is set or nobody reads the messages any more.
    pub(super) fn run(mut self, stop: &AtomicBool) -> anyhow::Result<FitOutcome> {
        let optim = &self.run.config.optim;
        let save_interval = self.run.save_interval(self.total);
        let started = Instant::now();
        let mut last = None;
        let ranks = Rc::clone(&self.run.ranks);
        // All ranks stop after the same step, whichever of them is to stop.
        let stops =
            |report: &Reporter| ranks.any(stop.load(Ordering::Relaxed) || report.is_closed());
        self.check_weights()?;
        while self.state.step < self.total && !stops(&self.report) {
            let mut batch = next_batch(&mut self.stream, &*ranks)?;
            self.texts.apply(&mut batch, self.state.step)?;
            let schedule = optim.schedule;
            let lr = optim.lr * schedule.multiplier(self.state.step, optim.warmup, self.total);
            let (learner, outcome) = self.learner.step(&batch, self.state.step, lr)?;
            self.learner = learner;
            self.check_finite(&outcome, &batch)?;
            self.state.step += 1;
            if let Some(average) = &mut self.average {
                average.update(&self.learner.model, self.state.step);
            }
            self.report.end_step();
            self.state.samples += batch.keys.len() as u64;
            self.state.position = batch.position_after;
            self.skipped += batch.skipped.broken();
            let step = self.state.step;
            let due = step.is_multiple_of(save_interval) || step == self.total;
            let measured = self.validation_values(due);
            let validation_values = measured.as_ref().map_or(&[][..], Vec::as_slice);
            self.report_step(&outcome, validation_values, lr, due)?;
            last = Some(outcome);
            let checks = self.run.config.train.rank_check;
            if !due && checks > 0 && step.is_multiple_of(checks) {
                self.check_weights()?;
            }
            if due {
                self.save()?;
                self.report.end_pause();
            }
            // Returns a validation error only after the checkpoint is saved.
            measured?;
        }
        self.finish(last, started)
    }

    /// Measures the validation data if a checkpoint is due; otherwise returns no values.
    fn validation_values(&self, due: bool) -> anyhow::Result<Vec<(String, f64)>> {
        match &self.validation {
            Some(validation) if due => validation.measure(&self.learner),
            _ => Ok(Vec::new()),
        }
    }

    /// Stops the run at a value that is not finite; the step has not changed the model.
    fn check_finite(&self, outcome: &StepReport, batch: &Batch) -> anyhow::Result<()> {
        if outcome.not_finite().is_empty() {
            return Ok(());
        }
        bail!(
            "step {}: {} not finite; samples {}; last good checkpoint: {}; lower optim.lr or \
             lengthen optim.warmup",
            self.state.step + 1,
            outcome.not_finite().join(", "),
            batch.keys.join(", "),
            self.last_checkpoint(),
        )
    }

    fn report_step(
        &mut self,
        outcome: &StepReport,
        measured: &[(String, f64)],
        lr: f64,
        due: bool,
    ) -> anyhow::Result<()> {
        let state = &self.state;
        let every = self.run.config.train.log_frequency;
        let write = state.step.is_multiple_of(every)
            || state.step == 1
            || state.step == self.total
            || due && !measured.is_empty();
        let mut values = outcome.values.clone();
        if write {
            let scalars = self.learner.scalars().into_iter();
            values.extend(scalars.map(|(n, v)| (n.to_owned(), v)));
            values.extend_from_slice(measured);
        }
        let position = state.position.last();
        let line = Line {
            step: state.step,
            epoch: position.epoch,
            index: position.index,
            samples: state.samples,
            skipped: self.skipped,
            lr,
            values,
        };
        self.report.step(&line, write)?;
        if !measured.is_empty() {
            let values = measured.iter().map(|(name, v)| format!("  {name} {v:.3}"));
            let values: String = values.collect();
            self.report
                .log(&format!("step {}/{}{values}", state.step, self.total))?;
        }
        Ok(())
    }

    /// Checks that all ranks have the same weights. A device or a memory that computes or stores
    /// another bit would go unnoticed otherwise, and spread to all ranks.
    fn check_weights(&self) -> anyhow::Result<()> {
        if self.run.ranks.world() == 1 {
            return Ok(());
        }
        let differ = self.learner.different_ranks();
        if differ.is_empty() {
            return Ok(());
        }
        bail!(
            "step {}: expected the same weights on all ranks, found others on rank {}; last \
             checkpoint of the same weights: {}",
            self.state.step,
            list(&differ),
            self.last_checkpoint()
        )
    }

    fn last_checkpoint(&self) -> String {
        let saved = self.saved.as_ref();
        saved.map_or_else(|| "none".into(), |path| path.display().to_string())
    }

    /// Writes a checkpoint on rank 0, after all ranks have compared their weights; returns its path.
    fn save(&mut self) -> anyhow::Result<PathBuf> {
        self.check_weights()?;
        self.card.step = self.state.step;
        let (folder, optimizer) = (&self.run.folder, &self.learner.optimizer);
        let content = Content {
            model: &self.learner.model,
            average: self.average.as_ref().map(Average::model),
            card: &self.card,
            classifier: self.classifier.as_deref(),
        };
        let keep = self.run.config.train.keep;
        let path = match self.run.ranks.is_root() {
            true => checkpoint::save(folder, content, optimizer, &self.state, keep)?,
            false => checkpoint::path(folder, self.state.step),
        };
        self.saved = Some(path.clone());
        Ok(path)
    }

    fn finish(mut self, last: Option<StepReport>, started: Instant) -> anyhow::Result<FitOutcome> {
        let interrupted = self.state.step < self.total;
        if let Some(layers) = &self.learner.texts.layers {
            layers.keep()?;
        }
        let checkpoint = match &self.saved {
            Some(path) if !interrupted => path.clone(),
            _ => self.save()?,
        };
        let table = summary::table(&self.run.folder);
        if let Some(table) = table.filter(|_| !interrupted && self.run.ranks.is_root()) {
            self.report.log(&table)?;
            if let Some(warning) = self.run.at_chance() {
                self.report.log(&warning)?;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let rate = (self.state.step - self.steps_before) as f64 / seconds.max(1e-3);
        let peak = memory::peak().map_or_else(String::new, |bytes| {
            format!(", peak memory {:.0} MiB", bytes as f64 / memory::MIB)
        });
        self.report.log(&format!(
            "{} after step {} of {}, {} in this process ({rate:.1} steps per second){peak}; \
             checkpoint: {}",
            if interrupted { "interrupted" } else { "done" },
            self.state.step,
            self.total,
            clock(seconds),
            checkpoint.display()
        ))?;
        self.report.finish();
        Ok(FitOutcome {
            checkpoint,
            step: self.state.step,
            interrupted,
            last,
        })
    }
}
