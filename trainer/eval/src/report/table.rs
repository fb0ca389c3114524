//! The table of a result on a terminal.

use std::fmt::Write as _;

use crate::Record;

/// Returns a result as text: a heading, then one metric per line with the paper's value next to
/// ours.
pub fn table(record: &Record) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", heading(record));
    for (name, value) in &record.metrics {
        let _ = write!(out, "  {name:28} {value:>9.4}");
        for paper in record.published.iter().filter(|p| p.metric == *name) {
            let _ = write!(
                out,
                "   paper {:.4} ({:+.4}, {})",
                paper.paper, paper.gap, paper.source
            );
        }
        out.push('\n');
    }
    if let Some(coverage) = &record.coverage {
        if !coverage.is_complete() {
            let _ = writeln!(
                out,
                "  {} of {} items were found",
                coverage.found, coverage.expected
            );
        }
        for (cause, of) in coverage.missing.iter().chain(&coverage.odd) {
            let _ = writeln!(out, "  {}", of.line(cause));
        }
        for (rule, of) in &coverage.skipped {
            let _ = writeln!(out, "  left out, {}", of.line(rule));
        }
    }
    out
}

/// Returns the heading of a result: task, benchmark, number of items, classes and prompts.
pub fn heading(record: &Record) -> String {
    let benchmark = record.benchmark.as_ref().map(|name| format!(" ({name})"));
    let benchmark = benchmark.unwrap_or_default();
    let choice = match record.classes {
        0 => String::new(),
        n => format!(", {n} candidates"),
    };
    let prompts = match record.prompts.as_str() {
        "" => String::new(),
        set => format!(", prompts {set}"),
    };
    format!(
        "{}{benchmark}: {} evaluated{choice}{prompts}",
        record.task, record.n
    )
}
