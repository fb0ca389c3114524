//! Reads the log of a libFuzzer run and formats it as a row of a table.

use std::fmt::Display;
use std::path::PathBuf;

/// A run of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// Name of the target.
    pub(super) name: String,
    /// Inputs that were executed.
    pub(super) executions: u64,
    /// The same per second.
    pub(super) per_second: u64,
    /// Inputs that are kept because each reaches something that no other does.
    pub(super) corpus: usize,
    /// Most memory of the program, in MiB.
    pub(super) memory: u64,
    /// Files with inputs that broke the target.
    pub(super) crashes: Vec<PathBuf>,
    /// How they broke it; empty if there are none.
    pub(super) cause: String,
}

impl Run {
    /// Reads the messages of a run; `None` if it did not reach its end.
    pub(super) fn of_log(name: &str, log: &str, corpus: usize) -> Option<Self> {
        let figure = |key: &str| {
            let lines = log.lines().filter_map(|line| line.strip_prefix("stat::"));
            let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            values.next_back()?.trim().parse().ok()
        };
        let after = |words: &'static str| {
            let lines = log.lines();
            lines.filter_map(move |line| Some(line.split_once(words)?.1.trim()))
        };
        let panic = log
            .lines()
            .skip_while(|line| !line.contains(" panicked at "));
        // The message is on the line after the place.
        let cause = panic.skip(1).chain(after("SUMMARY: libFuzzer: ")).next();
        Some(Self {
            name: name.to_owned(),
            executions: figure("number_of_executed_units")?,
            per_second: figure("average_exec_per_sec")?,
            memory: figure("peak_rss_mb")?,
            corpus,
            crashes: after("Test unit written to ").map(PathBuf::from).collect(),
            cause: cause.unwrap_or_default().to_owned(),
        })
    }

    /// Returns the row of this run.
    pub(super) fn row(&self) -> String {
        row([
            &self.name,
            &self.executions,
            &self.per_second,
            &self.corpus,
            &self.memory,
            &self.crashes.len(),
        ])
    }
}

/// Returns the header of the table.
pub(super) fn header() -> String {
    row([
        &"target",
        &"executions",
        &"per second",
        &"corpus",
        &"memory MiB",
        &"crashes",
    ])
}

fn row([name, executions, per_second, corpus, memory, crashes]: [&dyn Display; 6]) -> String {
    format!("{name:<10} {executions:>12} {per_second:>11} {corpus:>7} {memory:>11} {crashes:>8}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "Done 2048 runs in 41 second(s)\n\
        stat::number_of_executed_units: 2048\n\
        stat::average_exec_per_sec:     49\n\
        stat::new_units_added:          3\n\
        stat::slowest_unit_time_sec:    0\n\
        stat::peak_rss_mb:              95\n";

    #[test]
    fn a_run_without_a_crash_is_a_row_of_the_table() {
        let run = Run::of_log("image", STATS, 7).unwrap();
        assert_eq!((run.crashes.len(), run.cause.as_str()), (0, ""));
        let expected = "target       executions  per second  corpus  memory MiB  crashes\n\
            image              2048          49       7          95        0";
        assert_eq!(format!("{}\n{}", header(), run.row()), expected);
    }

    #[test]
    fn a_panic_is_told_with_its_message_and_the_path_of_its_input() {
        let log = format!(
            "thread '<unnamed>' (7) panicked at core/src/a.rs:1:2:\nno such node\n\
             SUMMARY: libFuzzer: deadly signal\n\
             artifact_prefix='x/'; Test unit written to x/image-crash-00ff\n{STATS}"
        );
        let run = Run::of_log("image", &log, 7).unwrap();
        assert_eq!(run.crashes, [PathBuf::from("x/image-crash-00ff")]);
        assert_eq!(run.cause, "no such node");
    }

    #[test]
    fn a_timeout_is_told_as_the_engine_says_it() {
        let log = format!(
            "SUMMARY: libFuzzer: timeout\nTest unit written to x/image-timeout-00ff\n{STATS}"
        );
        assert_eq!(Run::of_log("image", &log, 7).unwrap().cause, "timeout");
    }

    #[test]
    fn a_program_that_stopped_at_once_has_no_figures() {
        assert_eq!(Run::of_log("image", "error: no such target\n", 0), None);
    }
}
