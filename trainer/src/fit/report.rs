//! Progress output of a run: a bar on a terminal, plain lines in a pipe, JSON lines on disk.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Write, stderr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use espalier_io::disk::run_folder::METRICS;
use espalier_io::disk::write::write_atomic;
use espalier_io::output::try_note;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::pace::Pace;
use super::tensorboard::EventFile;
use crate::config::ReportTo;
use crate::memory;

/// Name of the log file in the folder of a run.
pub const LOG: &str = "out.log";

/// Time between two progress lines.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// One line of metrics.
#[derive(Clone, Debug)]
pub struct Line {
    /// Number of completed steps.
    pub step: u64,
    /// Epoch, from 0.
    pub epoch: u64,
    /// Number of records of the epoch that were read; it shows that no record is read twice.
    pub index: u64,
    /// Samples seen since the run began.
    pub samples: u64,
    /// Records skipped since the process began.
    pub skipped: u64,
    /// Learning rate of the step.
    pub lr: f64,
    /// Named values.
    pub values: Vec<(String, f64)>,
}

/// The length of a run.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Steps completed before this process began.
    pub steps_before: u64,
    /// Steps of the whole run.
    pub total: u64,
    /// Images that a step encodes.
    pub images_per_step: u64,
    /// Steps between two pauses for validation and a checkpoint, at least 1.
    pub pause_interval: u64,
}

/// Writes `metrics.jsonl`, `tensorboard/`, `out.log` and the progress of a run; nothing on ranks
/// other than 0.
pub struct Reporter {
    metrics: Option<File>,
    events: Option<EventFile>,
    /// `None` on ranks other than 0.
    log_file: Option<File>,
    bar: ProgressBar,
    plain: bool,
    is_brief: bool,
    started: Instant,
    /// End of the last step, or of the pause after it.
    resumed: Instant,
    pace: Pace,
    length: Length,
    last_line: Option<Instant>,
    /// Set when the reader of standard error has closed it.
    closed: bool,
}

/// Keeps the lines of a metrics file up to `step`. A killed run may have written lines beyond its
/// last checkpoint, and the resumed run repeats those steps.
fn truncate_after(path: &Path, step: u64) -> anyhow::Result<()> {
    let Ok(text) = std::fs::read_to_string(path) else {
        return Ok(());
    };
    let step_of = |line: &str| serde_json::from_str::<Value>(line).ok()?["step"].as_u64();
    let lines = text.lines();
    let retained = lines.filter(|line| step_of(line).is_some_and(|at| at <= step));
    let retained: String = retained.flat_map(|line| [line, "\n"]).collect();
    write_atomic(path, retained.as_bytes())
}

impl Reporter {
    /// Creates a reporter that writes nothing.
    pub fn silent(length: Length) -> Self {
        Self {
            metrics: None,
            events: None,
            log_file: None,
            bar: ProgressBar::hidden(),
            plain: true,
            is_brief: false,
            started: Instant::now(),
            resumed: Instant::now(),
            pace: Pace::default(),
            length,
            last_line: None,
            closed: false,
        }
    }

    /// Restarts the clock that measures the speed of the steps.
    pub fn restart_clock(&mut self) {
        self.started = Instant::now();
        self.resumed = self.started;
    }

    /// Starts reporting in `folder`. A brief report prints the progress; messages and values are only in the log.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn start(
        folder: &Path,
        to: &[ReportTo],
        length: Length,
        is_brief: bool,
    ) -> anyhow::Result<Self> {
        let metrics = folder.join(METRICS);
        truncate_after(&metrics, length.steps_before)?;
        let append = |path: PathBuf| {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            file.with_context(|| format!("opening {}", path.display()))
        };
        let plain = !stderr().is_terminal();
        let target = match plain {
            true => ProgressDrawTarget::hidden(),
            false => ProgressDrawTarget::stderr_with_hz(4),
        };
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}")
            .context("progress template")?;
        let bar = ProgressBar::with_draw_target(Some(length.total), target)
            .with_style(style)
            .with_position(length.steps_before);
        let metrics = || append(metrics);
        let events = || EventFile::create(&folder.join("tensorboard"), length.steps_before);
        Ok(Self {
            metrics: to.contains(&ReportTo::Jsonl).then(metrics).transpose()?,
            events: to
                .contains(&ReportTo::Tensorboard)
                .then(events)
                .transpose()?,
            log_file: Some(append(folder.join(LOG))?),
            bar,
            plain,
            is_brief,
            ..Self::silent(length)
        })
    }

    /// Returns whether the reader of standard error has closed it, as `head` does after some lines.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends a step: what follows up to [`end_pause`](Self::end_pause), if that is called, is no part of
    /// the next one.
    pub fn end_step(&mut self) {
        self.pace.step(self.resumed.elapsed().as_secs_f64());
        self.resumed = Instant::now();
    }

    /// Ends a pause for validation and a checkpoint, which began with the last step.
    pub fn end_pause(&mut self) {
        self.pace.pause(self.resumed.elapsed().as_secs_f64());
        self.resumed = Instant::now();
    }

    /// Removes the progress bar from the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// Prints a message on standard error. A full disk there loses the message, which is also in the
    /// log.
    fn print(&mut self, message: &str) {
        let printed = self.bar.suspend(|| try_note(message));
        self.closed |= printed.is_err_and(|e| e.kind() == ErrorKind::BrokenPipe);
    }

    /// Prints a message on the terminal and writes it to the log.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn log(&mut self, message: &str) -> anyhow::Result<()> {
        if self.log_file.is_some() && !self.is_brief {
            self.print(message);
        }
        self.write_log(message)
    }

    fn write_log(&mut self, text: &str) -> anyhow::Result<()> {
        let file = self.log_file.as_mut();
        file.map_or(Ok(()), |file| writeln!(file, "{text}"))
            .context("writing out.log")
    }

    /// Reports a step; with `write`, also adds it to `metrics.jsonl` and to the event file.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn step(&mut self, line: &Line, write: bool) -> anyhow::Result<()> {
        if self.log_file.is_none() {
            return Ok(());
        }
        let Length {
            steps_before,
            total,
            images_per_step,
            pause_interval,
        } = self.length;
        let seconds = self.started.elapsed().as_secs_f64();
        let done = (line.step - steps_before).max(1) as f64;
        let rate = done * images_per_step as f64 / seconds;
        let steps = total - line.step;
        let left = self.pace.left(steps, steps.div_ceil(pause_interval));
        if write {
            let mut object = json!({
                "step": line.step, "epoch": line.epoch, "index": line.index, "samples": line.samples,
                "skipped": line.skipped, "lr": line.lr,
            });
            for (name, value) in &line.values {
                object[name] = json!(value);
            }
            object["images_per_s"] = json!(rate);
            object["elapsed_s"] = json!(seconds);
            if let Some(bytes) = memory::peak() {
                object["peak_memory_mib"] = json!(bytes as f64 / memory::MIB);
            }
            if let Some(metrics) = &mut self.metrics {
                writeln!(metrics, "{object}").context("writing metrics.jsonl")?;
            }
            let rates = [("lr", line.lr), ("images_per_s", rate)];
            let values = line.values.iter().map(|(name, v)| (name.as_str(), *v));
            if let Some(events) = &mut self.events {
                events.scalars(line.step, values.chain(rates))?;
            }
        }
        let values = line.values.iter();
        let values: String = values.map(|(name, v)| format!("{name} {v:.3}  ")).collect();
        let brief = format!("{} left", clock(left));
        let text = format!("{values}lr {:.2e}  {rate:.1} images/s  {brief}", line.lr);
        self.bar.set_position(line.step);
        let message = if self.is_brief { &brief } else { &text };
        self.bar.set_message(message.clone());
        let line_due = self.last_line.is_none_or(|t| t.elapsed() >= LINE_INTERVAL);
        if line_due || line.step == total {
            self.last_line = Some(Instant::now());
            let text = format!("step {}/{total}  epoch {}  {text}", line.step, line.epoch);
            match (self.plain, self.is_brief) {
                (false, _) => {}
                (true, false) => self.print(&text),
                (true, true) => {
                    self.print(&format!("learning: step {} of {total}, {brief}", line.step));
                }
            }
            self.write_log(&text)?;
        }
        Ok(())
    }
}

/// Formats seconds as `1:02:03` or `2:03`.
pub fn clock(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    if h > 0 {
        format!("{h}:{m:02}:{s:02}")
    } else {
        format!("{m}:{s:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_resumed_step_are_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        std::fs::write(&path, "{\"step\":10}\n{\"step\":20}\n{\"step\":30}\n{\"st").unwrap();
        truncate_after(&path, 20).unwrap();
        let retained = std::fs::read_to_string(&path).unwrap();
        assert_eq!(retained, "{\"step\":10}\n{\"step\":20}\n");
    }

    #[test]
    fn seconds_are_formatted_as_hours_minutes_seconds() {
        assert_eq!(clock(59.6), "1:00");
        assert_eq!(clock(3723.0), "1:02:03");
    }
}
