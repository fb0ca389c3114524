//! `cargo xtask ci`: the checks of a change, cheapest first, the same here and on a server.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use crate::names::name_of;
use crate::process::{capture, command, on_path, run as execute, succeeds};
use crate::setup::cargo_tool::CargoTool;
use crate::setup::target::TARGET;
use crate::{paths, setup, test_run, web_build};

/// One check, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Step {
    /// Formatting
    Fmt,
    /// Spelling, if `typos` is installed
    Typos,
    /// Workflows for GitHub, if `actionlint` or `zizmor` is installed
    Workflows,
    /// Licences, sources, duplicates and advisories; installs `cargo-deny`
    Deny,
    /// Lints of everything that runs natively
    Clippy,
    /// Lints of the page and of both workers
    ClippyWasm,
    /// The trainer's `wgpu` and `cuda` features compile (with --gpu-checks)
    Gpu,
    /// All tests, as `cargo xtask test`
    Test,
    /// Documentation without a warning
    Doc,
    /// Sizes of the complete page, which is built unless it is up to date
    Sizes,
}

/// What to run.
#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Run only this step (may be given several times)
    #[arg(long, value_enum, value_name = "STEP")]
    pub only: Vec<Step>,
    /// Skip this step (may be given several times)
    #[arg(long, value_enum, value_name = "STEP")]
    pub skip: Vec<Step>,
    /// Continue after a failed step
    #[arg(long)]
    pub keep_going: bool,
    /// Also compile the trainer with its GPU backends, which takes a long time
    #[arg(long)]
    pub gpu_checks: bool,
    /// Which tests.
    #[command(flatten)]
    pub tests: test_run::Options,
}

/// How a step ended.
enum Outcome {
    Passed,
    Skipped(String),
    Failed,
}

/// Runs the chosen steps and prints a table of them.
///
/// # Errors
/// Fails if a step fails.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let mut table = Vec::new();
    for step in chosen(options) {
        eprintln!("== {}", name_of(&step));
        let start = Instant::now();
        let outcome = check(root, step, options).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            Outcome::Failed
        });
        let failed = matches!(outcome, Outcome::Failed);
        table.push((step, outcome, start.elapsed()));
        if failed && !options.keep_going {
            break;
        }
    }
    print(&table);
    let failed: Vec<String> = table
        .iter()
        .filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed))
        .map(|(step, ..)| name_of(step))
        .collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    if table.is_empty() {
        bail!("nothing was checked");
    }
    Ok(())
}

fn chosen(options: &Options) -> Vec<Step> {
    Step::value_variants()
        .iter()
        .copied()
        .filter(|step| options.only.is_empty() || options.only.contains(step))
        .filter(|step| !options.skip.contains(step))
        // These steps are long and rarely useful: they run only when requested by flag or by name.
        .filter(|step| {
            *step != Step::Gpu || options.gpu_checks || options.only.contains(&Step::Gpu)
        })
        .collect()
}

fn print(table: &[(Step, Outcome, Duration)]) {
    for (step, outcome, time) in table {
        let result = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Skipped(why) => format!("skipped: {why}"),
            Outcome::Failed => "FAILED".to_owned(),
        };
        println!(
            "{:<12} {:>7.1} s  {result}",
            name_of(step),
            time.as_secs_f64()
        );
    }
}

fn check(root: &Path, step: Step, options: &Options) -> Result<Outcome> {
    match step {
        Step::Fmt => cargo(root, &["fmt", "--all", "--check"]),
        Step::Typos => optional(root, "typos"),
        Step::Workflows => workflows(root),
        Step::Deny => deny(root),
        Step::Clippy => clippy(root),
        Step::ClippyWasm => clippy_wasm(root),
        Step::Gpu => gpu(root),
        Step::Test => {
            let totals = test_run::run(root, &options.tests)?;
            println!("{totals}");
            Ok(if totals.failed == 0 {
                Outcome::Passed
            } else {
                Outcome::Failed
            })
        }
        Step::Doc => {
            let mut doc = command("cargo");
            doc.args(["doc", "--workspace", "--no-deps"])
                .args(paths::QUICK)
                .env("RUSTDOCFLAGS", "-D warnings");
            execute(doc.current_dir(root)).map(|()| Outcome::Passed)
        }
        Step::Sizes => {
            let tools = setup::wasm(root)?;
            web_build::build(root, &tools, true).map(|()| Outcome::Passed)
        }
    }
}

fn cargo(root: &Path, args: &[&str]) -> Result<Outcome> {
    execute(command("cargo").args(args).current_dir(root)).map(|()| Outcome::Passed)
}

/// Lints all packages, the code for MPI where that is installed, in the profile of the tests, whose
/// build scripts and macros are reused.
fn clippy(root: &Path) -> Result<Outcome> {
    let mut lint = vec!["clippy", "--workspace", "--all-targets"];
    lint.extend(paths::QUICK);
    if setup::mpi::is_installed() {
        lint.extend(setup::mpi::FEATURES);
    }
    lint.extend(["--", "-D", "warnings"]);
    cargo(root, &lint)
}

/// Compiles the trainer with each GPU backend.
fn gpu(root: &Path) -> Result<Outcome> {
    for feature in ["wgpu", "cuda"] {
        let mut check = command("cargo");
        check
            .args(["check", "--release", "-p", "espalier-trainer"])
            .args(["--features", feature])
            // The build script of the CUDA backend downloads LLVM unless this variable says that
            // nothing will be linked.
            .env("DOCS_RS", "1");
        execute(check.current_dir(root))?;
    }
    Ok(Outcome::Passed)
}

/// Runs a program that may not be installed.
fn optional(root: &Path, program: &str) -> Result<Outcome> {
    if on_path(program).is_none() {
        let why = format!("{program} is not installed (`cargo xtask setup --docs` does)");
        return Ok(Outcome::Skipped(why));
    }
    execute(command(program).current_dir(root)).map(|()| Outcome::Passed)
}

/// Lints the workflows with those of the two programs that are installed: one knows their grammar, the
/// other one what makes them unsafe.
fn workflows(root: &Path) -> Result<Outcome> {
    let programs: [(&str, &[&str]); 2] = [
        ("actionlint", &[]),
        ("zizmor", &["--offline", ".github/workflows"]),
    ];
    let mut missing = Vec::new();
    for (program, args) in programs {
        if on_path(program).is_some() {
            execute(command(program).args(args).current_dir(root))?;
        } else {
            missing.push(program);
        }
    }
    Ok(if missing.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Skipped(format!("not installed: {}", missing.join(", ")))
    })
}

/// Checks licences, sources and duplicates from the repository alone. Advisories need the network; an
/// unreachable database is not a failure.
fn deny(root: &Path) -> Result<Outcome> {
    let deny = CargoTool::deny().ensure(root)?;
    let offline = ["check", "bans", "licenses", "sources"];
    execute(command(&deny).args(offline).current_dir(root))?;
    match capture(
        command(&deny)
            .args(["check", "advisories"])
            .current_dir(root),
    ) {
        Err(error)
            if error
                .to_string()
                .contains("failed to fetch advisory database") =>
        {
            Ok(Outcome::Skipped(
                "advisories only: their database is not available".to_owned(),
            ))
        }
        result => result.map(|_| Outcome::Passed),
    }
}

/// Lints the page and each worker separately, since the shipped programs never combine their
/// features.
fn clippy_wasm(root: &Path) -> Result<Outcome> {
    let tools = setup::wasm(root)?;
    let has_clippy = succeeds(tools.command("cargo").args(["clippy", "--version"]));
    let (verb, lints): (_, &[&str]) = if has_clippy {
        ("clippy", &["--", "-D", "warnings"])
    } else {
        ("check", &[])
    };
    for features in ["", "cpu", "webgpu"] {
        let mut lint = tools.command("cargo");
        lint.args([verb, "--profile", "release-wasm", "-p", "espalier-web"]);
        lint.args(["--target", TARGET, "--features", features]);
        execute(lint.args(lints).current_dir(root))
            .with_context(|| format!("features `{features}`"))?;
    }
    Ok(if has_clippy {
        Outcome::Passed
    } else {
        Outcome::Skipped("compiled only: the wasm32 toolchain has no clippy".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_the_long_step_run_by_default_in_order() {
        let steps = chosen(&Options::default());
        assert_eq!(steps.first(), Some(&Step::Fmt));
        assert_eq!(steps.last(), Some(&Step::Sizes));
        assert!(!steps.contains(&Step::Gpu) && steps.len() == 9);
    }

    #[test]
    fn steps_are_chosen_and_skipped_by_name() {
        let options = Options {
            gpu_checks: true,
            skip: vec![Step::Test],
            ..Options::default()
        };
        assert!(chosen(&options).contains(&Step::Gpu) && !chosen(&options).contains(&Step::Test));
        let options = Options {
            only: vec![Step::Doc, Step::Gpu],
            ..Options::default()
        };
        assert_eq!(chosen(&options), [Step::Gpu, Step::Doc]);
    }

    #[test]
    fn a_missing_program_is_skipped_with_advice_on_installing_it() {
        let outcome = optional(Path::new("."), "no-such-checker");
        assert!(matches!(outcome, Ok(Outcome::Skipped(why)) if why.contains("setup --docs")));
    }

    #[test]
    fn skipping_every_step_is_an_error() {
        let options = Options {
            only: vec![Step::Fmt],
            skip: vec![Step::Fmt],
            ..Options::default()
        };
        let error = run(Path::new("."), &options).map_err(|e| e.to_string());
        assert_eq!(error, Err("nothing was checked".to_owned()));
    }
}
