//! Test counts, read from the summaries of the test harness.

use std::fmt;
use std::ops::AddAssign;

/// Tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Marked as ignored and not run.
    pub skipped: usize,
}

impl Totals {
    /// Reads one line such as
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; …`.
    pub fn from_line(line: &str) -> Option<Self> {
        let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
        let count = |word: &str| {
            counts
                .split("; ")
                .find_map(|field| field.strip_suffix(word)?.trim().parse().ok())
        };
        Some(Self {
            passed: count("passed")?,
            failed: count("failed")?,
            skipped: count("ignored")?,
        })
    }

    /// Reads the last line of pytest, such as `== 1 failed, 12 passed, 3 skipped in 0.21s ==`. An error
    /// outside of a test is a failure.
    pub fn from_pytest(line: &str) -> Option<Self> {
        let (counts, _) = line.trim_matches([' ', '=']).rsplit_once(" in ")?;
        let mut totals = Self::default();
        for field in counts.split(", ") {
            let (count, word) = field.split_once(' ')?;
            let count: usize = count.parse().ok()?;
            match word {
                "passed" | "xfailed" => totals.passed += count,
                "failed" | "error" | "errors" | "xpassed" => totals.failed += count,
                "skipped" => totals.skipped += count,
                "deselected" | "warning" | "warnings" => {}
                _ => return None,
            }
        }
        Some(totals)
    }

    /// Returns the number of tests that ran.
    pub fn ran(&self) -> usize {
        self.passed + self.failed
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read_whether_it_passed_or_failed_and_other_lines_are_none() {
        let read = |line| Totals::from_line(line).map(|t| [t.passed, t.failed, t.skipped]);
        let ok = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 5 filtered out; \
                  finished in 0.01s";
        assert_eq!(read(ok), Some([12, 0, 3]));
        let bad = "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(read(bad), Some([1, 2, 0]));
        for line in [
            "",
            "test a ... ok",
            "test result: ok.",
            "note: test result: ok. 1 passed",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn a_summary_of_pytest_is_read() {
        let read = |line| Totals::from_pytest(line).map(|t| [t.passed, t.failed, t.skipped]);
        assert_eq!(read("==== 12 passed in 0.21s ===="), Some([12, 0, 0]));
        let bad = "== 1 failed, 12 passed, 3 skipped, 2 warnings, 1 error in 61.01s (0:01:01) ==";
        assert_eq!(read(bad), Some([12, 2, 3]));
        assert_eq!(read("tests/test_a.py .... in it"), None);
        assert_eq!(read("collected 12 items"), None);
    }

    #[test]
    fn totals_add_up_and_are_printed_in_one_line() {
        let mut sum = Totals {
            passed: 2,
            failed: 0,
            skipped: 1,
        };
        sum += Totals {
            passed: 1,
            failed: 4,
            skipped: 0,
        };
        assert_eq!(sum.to_string(), "3 passed, 4 failed, 1 skipped");
        assert_eq!(sum.ran(), 7);
    }
}
