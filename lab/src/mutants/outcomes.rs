//! What `cargo-mutants` found, as written to its `outcomes.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Results of the changes, by file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcomes {
    files: BTreeMap<String, Vec<(String, Summary)>>,
}

/// How a change ended.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(super) enum Summary {
    #[serde(rename = "CaughtMutant")]
    Caught,
    #[serde(rename = "MissedMutant")]
    Missed,
    Timeout,
    /// The changed code does not compile.
    Unviable,
    /// The tests without a change.
    Success,
    Failure,
}

#[derive(Deserialize)]
struct Report {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: Summary,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant { name: String, file: String },
}

/// Returns the description of a change without its line, which moves with other changes.
fn without_line(name: &str, file: &str) -> String {
    let rest = name.strip_prefix(file).unwrap_or(name);
    let words = rest.split_once(": ").map_or(rest, |(_, words)| words);
    format!("{file}: {words}")
}

impl Outcomes {
    /// Reads an `outcomes.json`; there are no outcomes without that file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let report: Report = serde_json::from_str(text)?;
        let mut outcomes = Self::default();
        for Outcome { scenario, summary } in report.outcomes {
            if let Scenario::Mutant { name, file } = scenario {
                let name = without_line(&name, &file);
                outcomes
                    .files
                    .entry(file)
                    .or_default()
                    .push((name, summary));
            }
        }
        Ok(outcomes)
    }

    pub(super) fn append(&mut self, other: Self) {
        for (file, more) in other.files {
            self.files.entry(file).or_default().extend(more);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    fn count(&self, summary: Summary) -> usize {
        let all = self.files.values().flatten();
        all.filter(|(_, found)| *found == summary).count()
    }

    /// Returns the changes that no test noticed.
    pub(super) fn survivors(&self) -> Vec<&str> {
        let all = self.files.values().flatten();
        let missed = all.filter(|(_, summary)| *summary == Summary::Missed);
        missed.map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the share of the changes that compile and were caught. A change after which the
    /// tests never end is caught, too.
    pub(super) fn caught_share(&self) -> f64 {
        let caught = self.count(Summary::Caught) + self.count(Summary::Timeout);
        let viable = caught + self.count(Summary::Missed);
        caught as f64 / viable.max(1) as f64
    }
}

/// Returns a table with a line for each file and one for all.
pub(super) fn table(all: &Outcomes) -> String {
    let mut table = format!(
        "{:<52} {:>7} {:>7} {:>8} {:>7} {:>9}\n",
        "file", "changes", "caught", "too slow", "missed", "no build"
    );
    let mut line = |name: &str, of: &Outcomes| {
        let changes: usize = of.files.values().map(Vec::len).sum();
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "{name:<52} {changes:>7} {:>7} {:>8} {:>7} {:>9}",
            of.count(Summary::Caught),
            of.count(Summary::Timeout),
            of.count(Summary::Missed),
            of.count(Summary::Unviable),
        );
    };
    for (file, changes) in &all.files {
        let files = BTreeMap::from([(file.clone(), changes.clone())]);
        line(file, &Outcomes { files });
    }
    line("all", all);
    let _ = writeln!(
        table,
        "caught: {:.3} of those that build",
        all.caught_share()
    );
    table
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"outcomes": [
        {"scenario": "Baseline", "summary": "Success"},
        {"scenario": {"Mutant": {"name": "src/a.rs:1:22: replace f -> i32 with 0", "file": "src/a.rs"}},
         "summary": "CaughtMutant"},
        {"scenario": {"Mutant": {"name": "src/a.rs:3:1: replace + with - in f", "file": "src/a.rs"}},
         "summary": "MissedMutant"},
        {"scenario": {"Mutant": {"name": "src/b.rs:9:9: replace g with ()", "file": "src/b.rs"}},
         "summary": "Timeout"},
        {"scenario": {"Mutant": {"name": "src/b.rs:9:9: replace h with None", "file": "src/b.rs"}},
         "summary": "Unviable"}]}"#;

    #[test]
    fn survivors_are_named_without_their_line() {
        let found = Outcomes::parse(REPORT).unwrap();
        assert_eq!(found.survivors(), ["src/a.rs: replace + with - in f"]);
    }

    #[test]
    fn what_does_not_build_counts_neither_way() {
        let found = Outcomes::parse(REPORT).unwrap();
        assert!((found.caught_share() - 2.0 / 3.0).abs() < 1e-9);
        let table = table(&found);
        let last: Vec<&str> = table.lines().rev().take(2).collect();
        assert_eq!(last[0], "caught: 0.667 of those that build");
        let all: Vec<&str> = last[1].split_whitespace().collect();
        assert_eq!(all, ["all", "4", "1", "1", "1", "1"]);
    }
}
