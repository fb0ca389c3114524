//! The training loop: steps, reports, checkpoints and the end of the run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};

use super::checkpoint::{self, Content, State};
use super::plan::{FitOutcome, Run};
use super::report::{Line, Reporter, clock};
use super::step::{StepReport, Task};
use super::texts::StepTexts;
use super::validate::Validation;
use crate::data::{Batch, BatchStream};
use crate::memory;
use crate::model_file::ModelCard;

/// A run in progress.
pub(super) struct TrainLoop<'a> {
    pub(super) run: &'a Run,
    pub(super) task: Task,
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
    pub(super) first: u64,
}

impl TrainLoop<'_> {
    /// Trains to the last step, or until `stop` is set.
    pub(super) fn go(mut self, stop: &AtomicBool) -> anyhow::Result<FitOutcome> {
        let optim = &self.run.config.optim;
        let save_every = self.run.save_every(self.total);
        let begun = Instant::now();
        let mut last = None;
        while self.state.step < self.total && !stop.load(Ordering::Relaxed) {
            let mut batch = self.stream.next().context("the data ended")??;
            self.texts.apply(&mut batch, self.state.step)?;
            let schedule = optim.schedule;
            let lr = optim.lr * schedule.multiplier(self.state.step, optim.warmup, self.total);
            let (task, found) = self.task.step(&batch, self.state.step, lr);
            self.task = task;
            self.refuse_broken(&found, &batch)?;
            self.state.step += 1;
            self.state.samples += batch.keys.len() as u64;
            self.state.position = batch.position_after;
            self.skipped += batch.skipped.broken();
            let saves = self.state.step.is_multiple_of(save_every) || self.state.step == self.total;
            let measured = self.measured(saves);
            let words = measured.as_ref().map_or(&[][..], Vec::as_slice);
            self.tell(&found, words, lr, saves)?;
            last = Some(found);
            if saves {
                self.save()?;
            }
            // Returns a validation error only after the checkpoint is saved.
            measured?;
        }
        self.finish(last, begun)
    }

    /// Measures the validation data if a checkpoint is due; otherwise returns no values.
    fn measured(&self, due: bool) -> anyhow::Result<Vec<(String, f64)>> {
        match &self.validation {
            Some(validation) if due => validation.measure(&self.task),
            _ => Ok(Vec::new()),
        }
    }

    /// Stops the run at a value that is not finite; the step has not changed the model.
    fn refuse_broken(&self, found: &StepReport, batch: &Batch) -> anyhow::Result<()> {
        if found.broken().is_empty() {
            return Ok(());
        }
        let kept = self.saved.as_ref();
        bail!(
            "step {}: {} not finite; samples {}; last good checkpoint: {}. Lower optim.lr, or \
             lengthen optim.warmup",
            self.state.step + 1,
            found.broken().join(", "),
            batch.keys.join(", "),
            kept.map_or_else(|| "none".into(), |p| p.display().to_string()),
        )
    }

    fn tell(
        &mut self,
        found: &StepReport,
        measured: &[(String, f64)],
        lr: f64,
        saves: bool,
    ) -> anyhow::Result<()> {
        let state = &self.state;
        let every = self.run.config.train.log_frequency;
        let write = state.step.is_multiple_of(every)
            || state.step == 1
            || state.step == self.total
            || saves && !measured.is_empty();
        let mut values = found.values.clone();
        if write {
            let scalars = self.task.scalars().into_iter();
            values.extend(scalars.map(|(n, v)| (n.to_owned(), v)));
            values.extend_from_slice(measured);
        }
        let line = Line {
            step: state.step,
            epoch: state.position.epoch,
            index: state.position.index,
            samples: state.samples,
            skipped: self.skipped,
            lr,
            values,
        };
        self.report.step(&line, write)?;
        if !measured.is_empty() {
            let words = measured.iter().map(|(name, v)| format!("  {name} {v:.3}"));
            let words: String = words.collect();
            self.report
                .say(&format!("step {}/{}{words}", state.step, self.total))?;
        }
        Ok(())
    }

    fn save(&mut self) -> anyhow::Result<PathBuf> {
        self.card.step = self.state.step;
        let path = checkpoint::save(
            &self.run.folder,
            Content {
                model: &self.task.model,
                card: &self.card,
                classifier: self.classifier.as_deref(),
            },
            &self.task.optimizer,
            &self.state,
            self.run.config.train.keep,
        )?;
        self.saved = Some(path.clone());
        Ok(path)
    }

    fn finish(mut self, last: Option<StepReport>, begun: Instant) -> anyhow::Result<FitOutcome> {
        let interrupted = self.state.step < self.total;
        let checkpoint = match &self.saved {
            Some(path) if !interrupted => path.clone(),
            _ => self.save()?,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let rate = (self.state.step - self.first) as f64 / seconds.max(1e-3);
        let peak = memory::peak()
            .map(|bytes| format!(", peak memory {:.0} MiB", bytes as f64 / memory::MIB))
            .unwrap_or_default();
        self.report.say(&format!(
            "{} after step {} of {}, {} in this process ({rate:.1} steps a second){peak}; \
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
