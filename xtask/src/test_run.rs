//! `cargo xtask test`: runs all tests and ends with one line of totals.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::harness::{TRAINER, run_harness};
use crate::process::{command, stream};
use crate::setup::browser::Browser;
use crate::setup::{self, WasmTools, wasm_target::Choice};
use crate::totals::Totals;
use crate::{paths, phases, python, web_build};

/// Sets up, builds the page and runs all tests; with `browser`, also those in Chromium, with `mpi`, also
/// those of training in several processes, and with `python`, also those of the Python package.
///
/// Tests that need a browser are in the test target `browser`, those that need MPI in `ranks`,
/// all marked as ignored, so that a plain `cargo test` works without them. They run here by
/// themselves, one at a time.
///
/// # Errors
/// Fails if the set-up fails. Failing tests and builds are counted in the totals instead, so that
/// one of them does not hide the others.
pub fn run(root: &Path, browser: bool, mpi: bool, python: bool) -> Result<Totals> {
    let tools = setup::wasm(root, Choice::Best)?;
    let chromium = if browser {
        Some(setup::browser::ensure()?)
    } else {
        None
    };
    if mpi {
        setup::mpi::ensure()?;
    }
    // Compiled first, so that the two times are known. What fails here fails again below, and counts.
    phases::run("compiling the tests", "12 minutes", || {
        stream(native(root, mpi).arg("--no-run"), |_| ())
    })?;
    let mut totals = phases::run("the tests", "5 minutes", || {
        run_harness(&mut native(root, mpi), Totals::from_line)
    })?;
    if mpi {
        let ranks = phases::run("the tests in several processes", "1 minute", || {
            run_harness(&mut in_processes(root), Totals::from_line)
        })?;
        totals = with_ignored(totals, ranks);
    }
    if let Some(chromium) = chromium {
        let browser = in_browser(root, &tools, &chromium, mpi)?;
        totals = with_ignored(totals, browser);
    }
    if python {
        totals += phases::run("the tests of the Python package", "4 minutes", || {
            in_python(root).unwrap_or_else(|error| failed(&error))
        });
    }
    phases::report();
    Ok(totals)
}

/// Builds the wheel of the Python package and runs its tests, which compare it with the trainer of the
/// tests before.
fn in_python(root: &Path) -> Result<Totals> {
    let wheel = python::wheel(root, &python::folder(root))?;
    python::test(root, &wheel)
}

/// Returns the totals of a build that failed.
fn failed(error: &anyhow::Error) -> Totals {
    eprintln!("error: {error:#}");
    Totals {
        failed: 1,
        ..Totals::default()
    }
}

/// Variable with the path of axe-core, for the accessibility tests.
const AXE: &str = "ESPALIER_AXE";

/// Variable with the folder of TypeScript, for the test of the widget's types.
const TYPESCRIPT: &str = "ESPALIER_TYPESCRIPT";

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
        return Ok(failed(&error));
    }
    let mut cargo = cargo_test(root, mpi);
    cargo
        .args(["--test", "browser"])
        .args(["--", "--ignored", "--test-threads=1"])
        .args(["--skip", "firefox", "--skip", "without_avx"])
        .env("ESPALIER_DIST", paths::dist(root))
        .env("CHROMIUM", &chromium.chromium)
        .env("CHROMEDRIVER", &chromium.chromedriver)
        .env(AXE, setup::axe::ensure()?)
        .env(TYPESCRIPT, setup::typescript::ensure()?);
    phases::run("the tests in Chromium", "5 minutes", || {
        run_harness(&mut cargo, Totals::from_line)
    })
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
