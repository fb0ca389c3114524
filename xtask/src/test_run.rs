//! `cargo xtask test`: runs the tests of a change, or all tests, and ends with one line of totals.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Result, bail};
use clap::Args;

use crate::docs::tutorials::{self, Outputs};
use crate::harness::{TRAINER, run_harness};
use crate::process::{command, stream};
use crate::setup::browser::Browser;
use crate::totals::Totals;
use crate::{paths, phases, python, setup, web_build};

/// Which tests run.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Also run the tests of a night: WebGPU, load, kills, Firefox, the Python and the npm package
    #[arg(long)]
    pub all: bool,
    /// Skip the tests in browsers
    #[arg(long)]
    pub no_browser: bool,
    /// Skip the tests of training in several processes, and build without MPI
    #[arg(long)]
    pub no_mpi: bool,
    /// Skip the tests of the Python package, which only run with --all
    #[arg(long)]
    pub no_python: bool,
}

/// Sets up, builds the page and runs the tests.
///
/// Tests that need more than a compiler are marked as ignored with what they need, so that a plain `cargo test`
/// works without it. They run here by themselves, one at a time: those in the program `ranks` need MPI, those
/// in `browser` a browser and the built page. Of these, the ones below `page::` run for every change, on a page
/// without the WebGPU engine, and the ones below `nightly::` with [`Options::all`].
///
/// # Errors
/// Fails if the set-up fails. Failing tests and builds are counted in the totals instead, so that
/// one of them does not hide the others.
pub fn run(root: &Path, options: &Options) -> Result<Totals> {
    let chromium = if options.no_browser {
        None
    } else {
        Some(setup::browser::ensure()?)
    };
    let mpi = !options.no_mpi;
    if mpi {
        setup::mpi::ensure()?;
    }
    // Both leave a core idle for much of their time. No test runs beside them: some look at the clock.
    let page = thread::scope(|scope| {
        let page = chromium
            .as_ref()
            .map(|_| scope.spawn(|| build_page(root, options.all)));
        // What does not compile fails again when the tests are run, and counts there.
        phases::run("compiling the tests", "10 minutes", || {
            stream(cargo_test(root, mpi).arg("--no-run"), |_| ())
        })?;
        let joined = page.map(|thread| {
            let built = thread.join();
            built.unwrap_or_else(|_| bail!("the build of the page panicked; its message is above"))
        });
        anyhow::Ok(joined)
    })?;
    let mut parts = Parts::default();
    parts.run("the tests", "4 minutes", &mut cargo_test(root, mpi))?;
    if mpi {
        let mut ranks = ignored(root, mpi, "ranks");
        parts.run("the tests in several processes", "1 minute", &mut ranks)?;
    }
    match (&chromium, page) {
        (Some(chromium), Some(Ok(page))) => {
            in_browsers(root, options, chromium, &page, &mut parts)?;
        }
        (_, Some(Err(error))) => parts.add("the page", failed(&error)),
        (_, None) | (None, _) => {}
    }
    if options.all {
        let mut kills = ignored(root, mpi, "torture");
        parts.run("the campaign of kills", "1 minute", &mut kills)?;
        let mut gpu = ignored(root, mpi, "gpu");
        parts.run("training on the backend of GPUs", "15 minutes", &mut gpu)?;
    }
    if options.all && !options.no_python {
        let totals = phases::run("the tests of the Python package", "4 minutes", || {
            in_python(root).unwrap_or_else(|error| failed(&error))
        });
        parts.add("the tests of the Python package", totals);
    }
    if options.all {
        let trainer = paths::quick(root).join("trainer");
        let totals = phases::run("the tutorials", "15 minutes", || {
            match tutorials::run(root, &trainer, &[], Outputs::Compare) {
                Ok(()) => Totals {
                    passed: 1,
                    ..Totals::default()
                },
                Err(error) => failed(&error),
            }
        });
        parts.add("the tutorials", totals);
    }
    phases::report();
    parts.report();
    Ok(parts.sum)
}

/// The totals of the run, and of each of its parts.
#[derive(Default)]
struct Parts {
    rows: Vec<(&'static str, Totals)>,
    sum: Totals,
}

impl Parts {
    /// Runs a part, announced as a phase.
    fn run(&mut self, name: &'static str, usual: &str, tests: &mut Command) -> Result<()> {
        let totals = phases::run(name, usual, || run_harness(tests, Totals::from_line))?;
        self.add_ignored(name, totals);
        Ok(())
    }

    /// Adds tests that the first part counted as skipped.
    fn add_ignored(&mut self, name: &'static str, totals: Totals) {
        self.sum.skipped = self.sum.skipped.saturating_sub(totals.ran());
        self.add(name, totals);
    }

    fn add(&mut self, name: &'static str, totals: Totals) {
        self.sum += totals;
        self.rows.push((name, totals));
    }

    fn report(&self) {
        for (name, totals) in &self.rows {
            let Totals { passed, failed, .. } = totals;
            eprintln!("{name:<44} {passed} passed, {failed} failed");
        }
    }
}

/// Builds the wheel of the Python package and runs its tests, which compare it with the trainer of the
/// tests before.
fn in_python(root: &Path) -> Result<Totals> {
    let wheel = python::wheel(root, paths::QUICK[1], &python::folder(root))?;
    python::test(root, &wheel, &paths::quick(root))
}

/// Returns the totals of a build that failed.
fn failed(error: &anyhow::Error) -> Totals {
    eprintln!("error: {error:#}");
    Totals {
        failed: 1,
        ..Totals::default()
    }
}

/// Returns the command for tests of the whole workspace. All of them have the same features and hence
/// one compilation.
fn cargo_test(root: &Path, mpi: bool) -> Command {
    let mut cargo = command("cargo");
    // The trainer that the tests call is built along with them.
    cargo
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(paths::QUICK)
        .args(setup::mpi::FEATURES.iter().filter(|_| mpi))
        .env(TRAINER, paths::quick(root).join("trainer"))
        .current_dir(root);
    cargo
}

/// Returns the command for the ignored tests of a program, one at a time.
fn ignored(root: &Path, mpi: bool, program: &str) -> Command {
    let mut cargo = cargo_test(root, mpi);
    cargo.args(["--test", program, "--", "--ignored", "--test-threads=1"]);
    cargo
}

/// Builds the page, for a change without the WebGPU engine, and returns its folder.
fn build_page(root: &Path, complete: bool) -> Result<PathBuf> {
    let tools = setup::wasm(root)?;
    if complete {
        web_build::build(root, &tools, true).map(|()| paths::dist(root))
    } else {
        web_build::build_first(root, &tools)
    }
}

/// Runs the tests in Chromium, and with [`Options::all`] those of a night.
fn in_browsers(
    root: &Path,
    options: &Options,
    chromium: &Browser,
    page: &Path,
    parts: &mut Parts,
) -> Result<()> {
    // For the tests of accessibility.
    let axe = setup::axe::ensure()?;
    let tests = |module: &str| {
        let mut cargo = ignored(root, !options.no_mpi, "browser");
        cargo
            .arg(module)
            .env("ESPALIER_DIST", page)
            .env("CHROMIUM", &chromium.chromium)
            .env("CHROMEDRIVER", &chromium.chromedriver)
            .env("ESPALIER_AXE", &axe);
        cargo
    };
    parts.run("the tests in Chromium", "4 minutes", &mut tests("page::"))?;
    if options.all {
        let mut nightly = tests("nightly::");
        nightly.env("ESPALIER_TYPESCRIPT", setup::typescript::ensure()?);
        // `cargo xtask agree` runs it, with QEMU.
        nightly.args(["--skip", "without_avx"]);
        setup::firefox::add_to(&mut nightly, root);
        let name = "the tests of a night in browsers";
        parts.run(name, "15 minutes", &mut nightly)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_tests_are_no_longer_skipped_once_they_ran() {
        let part = |passed, failed, skipped| Totals {
            passed,
            failed,
            skipped,
        };
        let mut parts = Parts::default();
        parts.add("native", part(10, 0, 4));
        parts.add_ignored("browser", part(1, 1, 0));
        parts.add("python", part(5, 0, 1));
        assert_eq!(parts.sum, part(16, 1, 3));
    }
}
