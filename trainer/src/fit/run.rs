//! The run from its folder and configuration to its last checkpoint.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Context;
use burn::optim::ModuleOptimizer;
use espalier_core::model::DualEncoder;
use espalier_data::records::order::records_of_epoch;
use espalier_data::{BatchStream, Needs, Positions};
use espalier_io::disk::run_folder::{CHECKPOINTS, LAST, METRICS, MODEL};
use espalier_io::exit::usage;

use super::average::Average;
use super::checkpoint::{self, State};
use super::optimise::optimizer;
use super::plan::{FitOutcome, Run};
use super::prepare::Prepared;
use super::report::{LOG, Length, Reporter};
use super::shared_batches::next_batch;
use super::step::StepReport;
use super::summary;
use super::train_loop::TrainLoop;
use super::validate::Validation;

impl Run {
    /// Trains to the last step, or until `stop` is set.
    ///
    /// # Errors
    /// Bad configuration or data (exit code 2), or a failure while running; checkpoints written
    /// before the failure are kept.
    pub fn train(&self, stop: &AtomicBool) -> anyhow::Result<FitOutcome> {
        let initialised = self.initialise()?;
        let (state, optimizer) = self.initial_state()?;
        let (spec, total) = (&initialised.spec, initialised.total);
        let images_per_sample = if spec.needs == Needs::Boxes { 2 } else { 1 };
        let length = Length {
            steps_before: state.step,
            total,
            images_per_step: spec.batch_size as u64 * images_per_sample,
            pause_interval: self.save_interval(total),
        };
        let report_to = &self.config.train.report_to;
        let mut report = match self.ranks.is_root() {
            true => Reporter::start(&self.folder, report_to, length, self.is_brief)?,
            false => Reporter::silent(length),
        };
        self.log_summary(&mut report, &state, total)?;
        let mut log = |line: &str| report.log(line);
        let Prepared {
            tokenizer,
            card,
            learner,
            texts,
            training,
        } = self.prepare(initialised, optimizer, None, stop, &mut log)?;
        report.restart_clock();
        let validation = training.validation.map(|(data, spec)| {
            let tokenizer = Arc::clone(&tokenizer);
            Validation::new(data, tokenizer, spec, self.config.train.val_batches)
        });
        let position = state.position.clone();
        let steps = TrainLoop {
            run: self,
            average: self.average(&learner.model)?,
            learner,
            validation,
            stream: BatchStream::start(training.data, tokenizer, training.spec, position)?,
            texts,
            saved: self.resume.clone(),
            skipped: 0,
            steps_before: state.step,
            state,
            card,
            classifier: self.classifier()?,
            report,
            total,
        };
        steps.run(stop)
    }

    /// Returns the average of the weights to continue, if the run keeps one.
    fn average(&self, model: &DualEncoder) -> anyhow::Result<Option<Average>> {
        let decay = self.config.optim.ema;
        if decay == 0.0 {
            return Ok(None);
        }
        Ok(Some(match &self.resume {
            Some(checkpoint) => Average::read(checkpoint, decay, &self.device)?,
            None => Average::new(model, decay),
        }))
    }

    /// Returns the state and the optimiser to start with: new ones, or those of the checkpoint that
    /// the run resumes.
    fn initial_state(&self) -> anyhow::Result<(State, ModuleOptimizer)> {
        let fingerprint = self.source.data.fingerprint();
        let optimizer = optimizer(&self.config.optim)?;
        let Some(path) = &self.resume else {
            let state = State {
                step: 0,
                samples: 0,
                position: Positions::start(self.config.dataset.lanes),
                data: fingerprint,
                seed: self.config.train.seed,
            };
            return Ok((state, optimizer));
        };
        let state = checkpoint::read_state(path)?;
        if state.data != fingerprint {
            return Err(usage(format!(
                "{}: expected the data of the run with the fingerprint {}, found {fingerprint}; \
                 resume with the same --data, or start a new run with --init",
                path.display(),
                state.data
            )));
        }
        Ok((state, checkpoint::read_optimizer(path, optimizer)?))
    }

    /// Warns if the run has ended where an untrained model is.
    pub(super) fn at_chance(&self) -> Option<String> {
        let level = self.method().chance_level(self.config.samples_of_step())?;
        summary::at_chance(&self.folder, level)
    }

    fn log_summary(&self, report: &mut Reporter, state: &State, total: u64) -> anyhow::Result<()> {
        let (t, data) = (&self.config.train, self.source.data.as_ref());
        let batch = self.config.samples_of_step();
        let samples = total * batch as u64;
        let of_epoch = self.samples_of_epoch(records_of_epoch(data));
        let of = match t.num_samples {
            0 => String::new(),
            n => format!(" of {n} samples"),
        };
        let chance = self.method().chance_level(batch);
        let chance = chance.map(|(term, value)| format!("; chance level of {term}: {value:.4}"));
        report.log(&format!(
            "{} on {} records: {total} steps of {batch} samples, {samples} samples, {:.2} epochs{of}{}",
            t.method.name(),
            data.records(),
            samples as f64 / of_epoch.max(1) as f64,
            chance.unwrap_or_default(),
        ))?;
        for (rule, entries) in data.left_out() {
            report.log(&format!("left out, {}", entries.line(&rule)))?;
        }
        if self.ranks.world() > 1 {
            report.log(&format!(
                "{} processes share each step; this is rank {}",
                self.ranks.world(),
                self.ranks.rank()
            ))?;
        }
        if self.resume.is_some() {
            let position = state.position.last();
            report.log(&format!(
                "resumes after step {} at record {} of epoch {}",
                state.step, position.index, position.epoch
            ))?;
        }
        Ok(())
    }

    /// Runs two steps on the real data at the real size and writes nothing; returns the report and
    /// the seconds of the second step, the number of records and the total number of steps.
    ///
    /// # Errors
    /// As [`train`](Self::train).
    pub fn dry_run(&self) -> anyhow::Result<(StepReport, f64, u64, u64)> {
        let initialised = self.initialise()?;
        let (records, total) = (self.source.data.records(), initialised.total);
        // Enough records for two batches, even if some of them cannot be used.
        let max_records = Some(4 * initialised.spec.batch_size as u64);
        let optimizer = optimizer(&self.config.optim)?;
        let stop = AtomicBool::new(false);
        let Prepared {
            tokenizer,
            mut learner,
            texts,
            training,
            ..
        } = self.prepare(initialised, optimizer, max_records, &stop, &mut |_| Ok(()))?;
        let start = Positions::start(training.spec.lanes);
        let mut stream = BatchStream::start(training.data, tokenizer, training.spec, start)?;
        let (mut report, mut seconds) = (StepReport { values: Vec::new() }, 0.0);
        for step in 0..2 {
            let mut batch = next_batch(&mut stream, &*self.ranks)?;
            texts.apply(&mut batch, step)?;
            // The first step includes allocations and, on a GPU, the compilation of kernels.
            let started = Instant::now();
            (learner, report) = learner.step(&batch, step, 0.0)?;
            seconds = started.elapsed().as_secs_f64();
        }
        Ok((report, seconds, records, total))
    }
}

/// Returns an unused name for a run: `STEM-1`, `-2`, …
pub fn free_name(logs: &Path, stem: String) -> String {
    (1..)
        .map(|n| format!("{stem}-{n}"))
        .find(|name| !logs.join(name).exists())
        .unwrap_or(stem)
}

/// Returns the folder of a run, after creating it and its subfolders.
///
/// # Errors
/// Bad usage when the run exists and is not to be resumed.
pub fn folder(logs: &Path, name: &str, resume: bool) -> anyhow::Result<PathBuf> {
    let is_plain = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    if !is_plain {
        return Err(usage(format!(
            "--name: expected a plain folder name, found `{name}`"
        )));
    }
    let folder = logs.join(name);
    if !resume && folder.join("config.toml").exists() {
        return Err(usage(format!(
            "{}: the run already exists; continue it with --resume latest, or choose another --name",
            folder.display()
        )));
    }
    fs::create_dir_all(folder.join(CHECKPOINTS))
        .with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}

/// Prepares the folder of a run that ended before its first checkpoint to begin again: removes what the
/// run wrote; other files stay.
///
/// # Errors
/// Bad usage when the run has weights, which would be lost.
pub fn begin_again(folder: &Path) -> anyhow::Result<()> {
    if let Some(weights) = weights_without_state(folder) {
        return Err(usage(format!(
            "--resume: {} has no progress and no optimiser beside it, so the run cannot be \
             continued; start from it with --init, under another --name",
            weights.display()
        )));
    }
    for name in [
        "config.toml",
        METRICS,
        LOG,
        LAST,
        CHECKPOINTS,
        "tensorboard",
    ] {
        let path = folder.join(name);
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false if path.exists() => fs::remove_file(&path),
            false => Ok(()),
        };
        removed.with_context(|| {
            format!("removing {} of a run without a checkpoint", path.display())
        })?;
    }
    Ok(())
}

/// Returns weights in the folder of a run without complete checkpoints. A user may have removed the rest.
fn weights_without_state(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder.join(CHECKPOINTS)).ok()?;
    let is_temporary = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    let kept = entries.flatten().filter(|entry| !is_temporary(entry));
    let mut weights = kept.map(|entry| entry.path().join(MODEL));
    weights.find(|weights| weights.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_checkpoint_begins_again_and_weights_are_never_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["config.toml", METRICS, "notes.txt"] {
            fs::write(at(name), "").unwrap();
        }
        let checkpoint = at(CHECKPOINTS).join("checkpoint_00000001");
        fs::create_dir_all(&checkpoint).unwrap();
        fs::write(checkpoint.join(MODEL), "").unwrap();
        let refused = begin_again(dir.path()).unwrap_err().to_string();
        assert!(refused.contains("--init"), "{refused}");
        assert!(checkpoint.join(MODEL).exists() && at(METRICS).exists());

        fs::remove_file(checkpoint.join(MODEL)).unwrap();
        begin_again(dir.path()).unwrap();
        assert!(!at(METRICS).exists() && !checkpoint.exists());
        assert!(at("notes.txt").exists());
    }
}
