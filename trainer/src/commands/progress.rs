//! Progress of a command over many records or images.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use espalier_io::output::note;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Interval between lines when standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Progress on standard error: a bar on a terminal, otherwise a line every [`LINE_EVERY`].
pub(super) struct Progress {
    bar: ProgressBar,
    /// Without a terminal: the name and the time of the next line.
    lines: Option<(&'static str, Mutex<Instant>)>,
}

impl Progress {
    /// Starts with none of `count` units, such as records.
    pub(super) fn new(name: &'static str, unit: &'static str, count: u64) -> Self {
        let terminal = stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(count), target);
        if let Ok(style) = ProgressStyle::with_template(
            "{msg} {wide_bar} {human_pos}/{human_len} {prefix}, {per_sec}, {eta} left",
        ) {
            bar.set_style(style);
        }
        bar.set_message(name);
        bar.set_prefix(unit);
        let lines = (!terminal).then(|| (name, Mutex::new(Instant::now() + LINE_EVERY)));
        Self { bar, lines }
    }

    /// Adds units that are done.
    pub(super) fn advance(&self, count: u64) {
        self.bar.inc(count);
        let Some((name, next)) = &self.lines else {
            return;
        };
        // If another thread holds the lock, it is writing the line.
        let Ok(mut next) = next.try_lock() else {
            return;
        };
        if Instant::now() >= *next {
            *next = Instant::now() + LINE_EVERY;
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            note(format_args!(
                "{name}: {} of {} {}",
                HumanCount(done),
                HumanCount(all),
                self.bar.prefix()
            ));
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
