//! `cargo xtask fuzz`: builds the fuzz targets of `tests/fuzz/` and runs them from the stored corpus.
//!
//! The engine is libFuzzer. It needs to know which code an input reached; the flags below have LLVM
//! count that in every crate, and are flags of the stable compiler.

mod report;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use serde::Deserialize;
use tempfile::TempDir;
use xtask::paths;
use xtask::process::{command, run as execute};
use xtask::setup::target::host;

use report::{Run, header};

/// Has LLVM count the edges that are reached, and report the values that are compared.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1";

/// Longest time for one input, in seconds.
const MAX_SECONDS: u32 = 10;

/// Most memory of the program, in MiB.
const MAX_MEMORY: u32 = 1024;

/// Folder of Linux whose files are in memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// Variable that names the target for the program.
const TARGET: &str = "ESPALIER_FUZZ_TARGET";

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Run only this target (may be given several times)
    #[arg(long, value_name = "NAME")]
    pub target: Vec<String>,
    /// Minutes for each target
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub minutes: u32,
    /// Targets that run at the same time, each on one core
    #[arg(long, value_name = "N", default_value = "1")]
    pub jobs: NonZeroUsize,
}

/// A section of `tests/fuzz/targets.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Longest input in bytes.
    max_bytes: usize,
    /// Folders of real files, in addition to the stored corpus.
    seeds: Vec<PathBuf>,
}

/// Runs the chosen targets and prints the row of each as soon as it ends.
///
/// # Errors
/// Fails for an unknown target, and if a program cannot be built or does not run to its end. An
/// input that was found is not an error; the exit code tells of it.
pub fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    let settings = settings(root)?;
    let targets = chosen(&settings, &options.target)?;
    let program = build(root)?;
    let folder = paths::target(root).join("fuzz");
    println!("{}", header());
    let fuzz = |(name, settings): (&str, &Settings)| {
        eprintln!("== {name}, {} min", options.minutes);
        let run = fuzz(root, &program, &folder, name, settings, options.minutes)?;
        println!("{}", run.row());
        Ok(run)
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(options.jobs.get())
        .build()?;
    // Each thread takes one target at a time, so that no target waits while a thread is idle.
    let targets = targets.into_par_iter().with_max_len(1);
    let runs: Vec<Run> = pool.install(|| targets.map(fuzz).collect::<Result<_>>())?;
    let mut code = ExitCode::SUCCESS;
    for run in &runs {
        for input in &run.crashes {
            eprintln!(
                "error: {}: {} with the input {}",
                run.name,
                run.cause,
                input.display()
            );
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

fn settings(root: &Path) -> Result<BTreeMap<String, Settings>> {
    let path = root.join("tests/fuzz/targets.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

fn chosen<'a>(
    settings: &'a BTreeMap<String, Settings>,
    names: &[String],
) -> Result<Vec<(&'a str, &'a Settings)>> {
    if let Some(unknown) = names.iter().find(|name| !settings.contains_key(*name)) {
        let known: Vec<&str> = settings.keys().map(String::as_str).collect();
        bail!(
            "--target: expected one of {}, found `{unknown}`",
            known.join(", ")
        );
    }
    let all = settings.iter().map(|(name, of)| (name.as_str(), of));
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    Ok(all.filter(|(name, _)| is_chosen(name)).collect())
}

/// Builds the program with all targets.
fn build(root: &Path) -> Result<PathBuf> {
    let host = host(root)?;
    let mut cargo = command("cargo");
    cargo
        .args(["build", "--profile", "fuzz", "--package", "espalier-fuzz"])
        .args(["--features", "engine", "--bin", "fuzz"])
        // With a target, the flags are not those of build scripts, which lack the engine.
        .args(["--target", &host])
        .env("RUSTFLAGS", RUSTFLAGS)
        .current_dir(root);
    execute(&mut cargo)?;
    Ok(paths::target(root).join(host).join("fuzz/fuzz"))
}

/// Runs one target. New inputs are kept in `folder`, so that a later run continues from them.
fn fuzz(
    root: &Path,
    program: &Path,
    folder: &Path,
    name: &str,
    settings: &Settings,
    minutes: u32,
) -> Result<Run> {
    let (corpus, crashes) = (folder.join("corpus").join(name), folder.join("crashes"));
    for folder in [&corpus, &crashes] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let scratch = scratch()?;
    let log = folder.join(format!("{name}.log"));
    let file = File::create(&log).with_context(|| log.display().to_string())?;
    let mut fuzzer = command(program);
    fuzzer
        .arg(&corpus)
        .arg(root.join("tests/fuzz/corpus").join(name))
        .args(settings.seeds.iter().map(|seeds| root.join(seeds)))
        .arg(format!("-max_total_time={}", minutes * 60))
        .arg(format!("-max_len={}", settings.max_bytes))
        .arg(format!("-timeout={MAX_SECONDS}"))
        .arg(format!("-rss_limit_mb={MAX_MEMORY}"))
        .arg(format!("-artifact_prefix={}/{name}-", crashes.display()))
        .arg("-print_final_stats=1")
        .env(TARGET, name)
        .env("TMPDIR", scratch.path())
        .current_dir(root)
        .stderr(file);
    let status = fuzzer
        .status()
        .with_context(|| program.display().to_string())?;
    // Not `read_to_string`: a message may quote bytes of the input.
    let text = fs::read(&log).with_context(|| log.display().to_string())?;
    let run = Run::of_log(
        name,
        &String::from_utf8_lossy(&text),
        fs::read_dir(&corpus)?.count(),
    );
    match run {
        Some(run) if status.success() != run.crashes.is_empty() => {
            bail!("{name} ended with {status}; see {}", log.display())
        }
        Some(run) => Ok(run),
        None => bail!(
            "{name} ended with {status} before it ran; see {}",
            log.display()
        ),
    }
}

/// Creates a folder for the files that targets write, in memory where the system has a place for
/// that. A program that an input ended leaves its files there.
fn scratch() -> Result<TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("espalier-fuzz-");
    folder
        .tempdir_in(SHARED_MEMORY)
        .or_else(|_| folder.tempdir())
        .context("creating a temporary folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_stored_corpus_and_its_seeds_exist() {
        let root = paths::root().unwrap();
        let settings = settings(&root).unwrap();
        assert_eq!(chosen(&settings, &[]).unwrap().len(), settings.len());
        for (name, of) in &settings {
            let stored = root.join("tests/fuzz/corpus").join(name);
            let folders = of.seeds.iter().map(|seeds| root.join(seeds));
            for folder in folders.chain([stored]) {
                assert!(fs::read_dir(&folder).unwrap().count() > 0, "{folder:?}");
            }
        }
    }

    #[test]
    fn an_unknown_target_is_an_error_that_lists_the_known_ones() {
        let settings = settings(&paths::root().unwrap()).unwrap();
        let message = chosen(&settings, &["photo".into()])
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("--target: expected one of benchmarks, config, "),
            "{message}"
        );
        assert!(message.ends_with("found `photo`"), "{message}");
    }
}
