//! Runs programs that run tests, and counts their results.

use std::process::Command;

use anyhow::Result;

use crate::process::{shown, stream};
use crate::totals::Totals;

/// Variable with the path of the trainer, for the tests that start it.
pub(crate) const TRAINER: &str = "ESPALIER_TRAINER";

/// Runs a command that runs tests and adds up its summaries, which `read` finds. A command that fails
/// without a failed test did not build, and a command without any test checks nothing: both count as one
/// failure.
pub(crate) fn run_harness(tests: &mut Command, read: fn(&str) -> Option<Totals>) -> Result<Totals> {
    let mut totals = Totals::default();
    let status = stream(tests, |line| {
        if let Some(counts) = read(line) {
            totals += counts;
        }
    })?;
    if !status.success() && totals.failed == 0 {
        eprintln!(
            "error: `{}` failed before all tests had run ({status})",
            shown(tests)
        );
        totals.failed = 1;
    }
    if totals.ran() == 0 {
        eprintln!("error: `{}` ran no test at all", shown(tests));
        totals.failed = 1;
    }
    Ok(totals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command;

    /// Returns how many tests passed, failed and were skipped.
    fn shell(script: &str) -> [usize; 3] {
        let totals = run_harness(command("sh").args(["-c", script]), Totals::from_line).unwrap();
        [totals.passed, totals.failed, totals.skipped]
    }

    #[test]
    fn summaries_of_several_targets_are_added() {
        let counts = shell(
            "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out'; \
             echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out'; \
             exit 101",
        );
        assert_eq!(counts, [4, 2, 1]);
    }

    #[test]
    fn a_build_that_fails_is_a_failure_and_a_run_without_any_test_too() {
        assert_eq!(shell("exit 101"), [0, 1, 0]);
        let half = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured'; exit 101";
        assert_eq!(shell(half), [3, 1, 0]);
        let none = "echo 'test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured'";
        assert_eq!(shell(none), [0, 1, 4]);
    }
}
