//! `trainer data audit` and `trainer data prepare`.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::{AuditArgs, AuditDataset, PrepareArgs, PrepareDataset};
use crate::data::records::source::Dataset;
use crate::data::tools::audit::{AuditReport, audit as read_all};
use crate::data::tools::prepare::{PrepareReport, prepare as write_all};
use crate::data::{DataError, Grit, Synthetic};

/// Number of labels listed in the table.
const LISTED_LABELS: usize = 5;
/// Interval between progress lines when standard error is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Number of records and image side in pixels of the synthetic dataset in an audit.
const SYNTHETIC: (u64, u32) = (4096, 64);

/// Reads the whole dataset and prints counts as a table or as JSON.
///
/// # Errors
/// If the dataset cannot be opened; broken records are counted, not an error.
pub fn audit(args: &AuditArgs) -> anyhow::Result<()> {
    let dataset: Box<dyn Dataset> = match args.dataset {
        AuditDataset::Grit => Box::new(Grit::open(&args.paths)?),
        AuditDataset::Synthetic => {
            if let Some(path) = args.paths.first() {
                return Err(DataError::Setting {
                    field: "PATH",
                    expected: "absent, because the synthetic dataset is generated on the fly",
                    found: path.display().to_string(),
                }
                .into());
            }
            Box::new(Synthetic::new(SYNTHETIC.0, SYNTHETIC.1, 0))
        }
    };
    let progress = Progress::new("audit", dataset.records());
    let report = pool(args.workers)?.install(|| read_all(&*dataset, &|n| progress.advance(n)));
    progress.finish();
    if args.json {
        print_json(&report)
    } else {
        print(&audit_table(&report))
    }
}

/// Writes prepared shards and prints what was written.
///
/// # Errors
/// If the dataset cannot be opened or the output cannot be written.
pub fn prepare(args: &PrepareArgs) -> anyhow::Result<()> {
    let PrepareDataset::Grit = args.dataset;
    let dataset = Grit::open(&args.paths)?;
    let progress = Progress::new("prepare", dataset.records());
    let report =
        pool(args.workers)?.install(|| write_all(&dataset, &args.out, &|n| progress.advance(n)))?;
    progress.finish();
    if args.json {
        print_json(&report)
    } else {
        print(&prepare_table(&report))
    }
}

fn pool(workers: usize) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .context("starting the worker threads")
}

fn print(text: &str) -> anyhow::Result<()> {
    writeln!(stdout(), "{text}").context("writing to standard output")
}

fn print_json(report: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string(report)?)
}

/// A table of two columns.
#[derive(Default)]
struct Table(Vec<(String, String)>);

impl Table {
    fn row(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    fn count(&mut self, name: &str, value: u64) {
        self.row(name, grouped(value));
    }

    /// Adds a row for a problem; omits it if the count is 0.
    fn problem(&mut self, name: &str, value: u64) {
        if value > 0 {
            self.count(&format!("  {name}"), value);
        }
    }

    fn render(&self) -> String {
        let width = self
            .0
            .iter()
            .map(|(name, _)| name.chars().count())
            .max()
            .unwrap_or(0);
        let lines: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name:<width$}  {value}"))
            .collect();
        lines.join("\n")
    }
}

/// Formats `1234567` as `1,234,567`.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn audit_table(report: &AuditReport) -> String {
    let mut table = Table::default();
    table.count("shards", report.shards as u64);
    table.count("units (row groups, tars)", report.units as u64);
    table.count("records", report.records);
    table.count("broken", report.broken);
    for broken in &report.broken_by_cause {
        let example = &broken.count.example;
        table.row(
            format!("  {}", broken.cause),
            format!(
                "{}  (for example {}, record {}: {})",
                grouped(broken.count.count),
                example.file,
                example.key,
                example.detail
            ),
        );
    }
    table.count("repeated keys", report.repeated_keys);
    let boxes = &report.boxes;
    table.count("noun chunks", boxes.noun_chunks);
    table.count("referring expressions", boxes.ref_exps);
    table.problem("boxes of prepared shards", boxes.prepared);
    table.problem(
        "phrase repeated in its record (skipped)",
        boxes.repeated_phrase,
    );
    table.problem("offset past the end (truncated)", boxes.offset_past_the_end);
    table.problem("phrase blank (skipped)", boxes.blank_phrase);
    table.problem("fewer than six numbers (skipped)", boxes.too_few_numbers);
    table.problem("number not finite (skipped)", boxes.not_finite);
    table.problem("box outside the image (clamped)", boxes.outside);
    table.problem("box inverted or empty (skipped)", boxes.inverted);
    table.problem(
        "records with more or fewer synsets than noun chunks",
        boxes.synsets_misaligned,
    );
    table.count("boxes with a phrase", report.usable_boxes);
    table.count("distinct phrases", report.unique_phrases as u64);
    table.count("records without a box", report.records_without_box);
    for limit in &report.size_limits {
        table.row(
            format!("boxes up to {:.1} px squared", limit.min_box_px),
            format!(
                "{}  (too small for {} px models; {} records keep no box)",
                grouped(limit.boxes_below),
                limit.model_px,
                grouped(limit.records_without_box)
            ),
        );
    }
    let captions = report.captions;
    table.row(
        "caption length",
        format!(
            "{} to {} characters, mean {:.1}",
            captions.min, captions.max, captions.mean
        ),
    );
    let labels = &report.labels;
    table.row(
        "labels",
        format!(
            "{}, {} distinct",
            grouped(labels.total),
            grouped(labels.distinct as u64)
        ),
    );
    let mut frequent: Vec<(&String, u64)> = labels.counts.iter().map(|(l, &n)| (l, n)).collect();
    frequent.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    for (label, count) in frequent.iter().take(LISTED_LABELS) {
        table.count(&format!("  {label}"), *count);
    }
    if let Some((label, count)) = frequent.last().filter(|_| frequent.len() > LISTED_LABELS) {
        table.row(format!("  … {label}"), grouped(*count));
    }
    let pictures = &report.pictures;
    table.row(
        "image sides",
        format!(
            "{} to {} px, {} distinct sizes",
            pictures.min_side,
            pictures.max_side,
            grouped(pictures.distinct as u64)
        ),
    );
    for size in &pictures.most_frequent {
        table.count(&format!("  {} x {}", size.width, size.height), size.count);
    }
    table.render()
}

fn prepare_table(report: &PrepareReport) -> String {
    let mut table = Table::default();
    table.row(
        "shards",
        format!(
            "{}  ({} already prepared)",
            report.shards.len(),
            report.already_done
        ),
    );
    table.count("records read", report.counts.seen);
    table.count("records written", report.written);
    table.count("boxes written", report.boxes);
    table.count("no box above 32 px squared", report.counts.no_usable_box);
    table.count("broken", report.counts.broken());
    let mut text = table.render();
    if report.counts.broken() > 0 {
        text.push('\n');
        text.push_str(&report.counts.to_string());
    }
    text
}

/// Progress on standard error: a bar on a terminal, otherwise a line every [`LINE_EVERY`].
struct Progress {
    bar: ProgressBar,
    /// Without a terminal: the name and the time of the next line.
    lines: Option<(&'static str, Mutex<Instant>)>,
}

impl Progress {
    fn new(name: &'static str, records: u64) -> Self {
        let terminal = stderr().is_terminal();
        let target = if terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(records), target);
        if let Ok(style) = ProgressStyle::with_template(
            "{msg} {wide_bar} {human_pos}/{human_len} records, {per_sec}, {eta} left",
        ) {
            bar.set_style(style);
        }
        bar.set_message(name);
        let lines = (!terminal).then(|| (name, Mutex::new(Instant::now() + LINE_EVERY)));
        Self { bar, lines }
    }

    fn advance(&self, records: u64) {
        self.bar.inc(records);
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
            // A failure to write progress must not stop the work.
            let _ = writeln!(
                stderr(),
                "{name}: {} of {} records",
                grouped(done),
                grouped(all)
            );
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::records::source::Dataset;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let pairs = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (110_000, "110,000"),
        ];
        for (value, text) in pairs {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn the_table_states_records_boxes_and_limits() {
        let data = Synthetic::new(300, 32, 0);
        let text = audit_table(&read_all(&data, &|_| ()));
        let lines: Vec<&str> = text.lines().collect();
        let value = |name: &str| {
            let line = lines
                .iter()
                .find(|line| line.starts_with(name))
                .copied()
                .unwrap_or("");
            line[name.len()..].trim().to_owned()
        };
        assert_eq!(value("records "), "300");
        assert_eq!(value("broken"), "0");
        assert_eq!(
            value("units (row groups, tars)"),
            data.units().len().to_string()
        );
        assert!(value("boxes up to 32.0 px squared").contains("300 records keep no box"));
        assert!(value("image sides").starts_with("32 to 32 px"));
    }
}
