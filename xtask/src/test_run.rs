//! `cargo xtask test`: runs all tests and ends with one line of totals.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process::{command, shown, stream};
use crate::setup::browser::Browser;
use crate::setup::{self, WasmTools, wasm_target::Choice};
use crate::totals::Totals;
use crate::{paths, web_build};

/// Sets up, builds the page and runs all tests; with `browser`, also those in Chromium, and with
/// `mpi`, also those of training in several processes.
///
/// Tests that need a browser are in test targets named `browser*`, those that need MPI in `ranks`,
/// all marked as ignored, so that a plain `cargo test` works without them. They run here by
/// themselves, one at a time.
///
/// # Errors
/// Fails if the set-up fails. Failing tests and builds are counted in the totals instead, so that
/// one of them does not hide the others.
pub fn run(root: &Path, browser: bool, mpi: bool) -> Result<Totals> {
    let tools = setup::wasm(root, Choice::Best)?;
    let chromium = if browser {
        Some(setup::browser::ensure()?)
    } else {
        None
    };
    if mpi {
        setup::mpi::ensure()?;
    }
    let mut totals = run_harness(&mut native(root, mpi))?;
    if mpi {
        let ranks = run_harness(&mut in_processes(root))?;
        totals = with_ignored(totals, ranks);
    }
    if let Some(chromium) = chromium {
        let browser = in_browser(root, &tools, &chromium, mpi)?;
        totals = with_ignored(totals, browser);
    }
    Ok(totals)
}

/// Variable with the path of the trainer, for the tests that start it.
const TRAINER: &str = "ESPALIER_TRAINER";

/// Variable with the path of axe-core, for the accessibility tests.
const AXE: &str = "ESPALIER_AXE";

/// Returns the command for tests of the whole workspace. All of them have the same features and hence
/// one compilation.
fn cargo_test(root: &Path, mpi: bool) -> Command {
    let mut cargo = command("cargo");
    // Optimised: the tests train and embed, and the trainer that they call is built along with
    // them.
    cargo
        .args(["test", "--release", "--workspace", "--no-fail-fast"])
        .args(setup::mpi::FEATURES.iter().filter(|_| mpi))
        .env(TRAINER, paths::release(root).join("trainer"))
        .current_dir(root);
    cargo
}

/// Returns all tests that need neither a browser nor MPI.
fn native(root: &Path, mpi: bool) -> Command {
    cargo_test(root, mpi)
}

/// Returns the tests that start the trainer in several processes.
fn in_processes(root: &Path) -> Command {
    let mut cargo = cargo_test(root, true);
    cargo.args(["--test", "ranks", "--", "--ignored", "--test-threads=1"]);
    cargo
}

fn in_browser(root: &Path, tools: &WasmTools, chromium: &Browser, mpi: bool) -> Result<Totals> {
    if let Err(error) = web_build::build(root, tools, true) {
        eprintln!("error: {error:#}");
        return Ok(Totals {
            failed: 1,
            ..Totals::default()
        });
    }
    let mut cargo = cargo_test(root, mpi);
    cargo
        .args(["--test", "browser*"])
        .args(["--", "--ignored", "--test-threads=1"])
        .env("ESPALIER_DIST", paths::dist(root))
        .env("CHROMIUM", &chromium.chromium)
        .env("CHROMEDRIVER", &chromium.chromedriver)
        .env(AXE, setup::axe::ensure()?);
    run_harness(&mut cargo)
}

/// Runs `cargo test` and adds up its summaries. A command that fails without a failed test did not
/// build, and a command without any test checks nothing: both count as one failure.
fn run_harness(cargo: &mut Command) -> Result<Totals> {
    let mut totals = Totals::default();
    let status = stream(cargo, |line| {
        if let Some(counts) = Totals::from_line(line) {
            totals += counts;
        }
    })?;
    if !status.success() && totals.failed == 0 {
        eprintln!(
            "error: `{}` failed before all tests had run ({status})",
            shown(cargo)
        );
        totals.failed = 1;
    }
    if totals.ran() == 0 {
        eprintln!("error: `{}` ran no test at all", shown(cargo));
        totals.failed = 1;
    }
    Ok(totals)
}

/// Adds tests that the run before counted as skipped.
fn with_ignored(before: Totals, ignored: Totals) -> Totals {
    Totals {
        passed: before.passed + ignored.passed,
        failed: before.failed + ignored.failed,
        skipped: before.skipped.saturating_sub(ignored.ran()) + ignored.skipped,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Totals {
        run_harness(command("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn summaries_of_several_targets_are_added() {
        let totals = shell(
            "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out'; \
             echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out'; \
             exit 101",
        );
        assert_eq!(
            totals,
            Totals {
                passed: 4,
                failed: 2,
                skipped: 1
            }
        );
    }

    #[test]
    fn a_build_that_fails_is_a_failure() {
        assert_eq!(shell("exit 101").failed, 1);
        let half = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured'; exit 101";
        assert_eq!(
            shell(half),
            Totals {
                passed: 3,
                failed: 1,
                skipped: 0
            }
        );
    }

    #[test]
    fn a_run_without_any_test_is_a_failure() {
        let none = "echo 'test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured'";
        assert_eq!(
            shell(none),
            Totals {
                passed: 0,
                failed: 1,
                skipped: 4
            }
        );
    }

    #[test]
    fn ignored_tests_are_no_longer_skipped_once_they_ran() {
        let native = Totals {
            passed: 10,
            failed: 0,
            skipped: 3,
        };
        let browser = Totals {
            passed: 1,
            failed: 1,
            skipped: 0,
        };
        assert_eq!(
            with_ignored(native, browser),
            Totals {
                passed: 11,
                failed: 1,
                skipped: 1
            }
        );
    }
}
