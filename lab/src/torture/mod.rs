//! `cargo xtask torture`: runs commands of `trainer` and causes faults at random moments: kills, signals, a lack of disk,
//! of memory or of permissions, and truncated files. After a fault, no incomplete file may have its final name, and the same
//! command, run again, must write the same bytes as a run without a fault and leave no temporary file. The faults are
//! signals and limits of Unix.

mod chance;
mod check;
mod fault;
mod inputs;
mod process;
mod ranks;
mod round;
mod summary;
mod task;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use xtask::process::{command, run as execute};
use xtask::{paths, setup};

use chance::Chance;
pub use fault::Fault;
use inputs::Inputs;
use round::Campaign;
pub use summary::Summary;
pub use task::Task;

/// What to run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of faults
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: u32,
    /// Seed of tasks, faults and moments
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Only this task (may be given several times)
    #[arg(long, value_enum, value_name = "TASK")]
    pub task: Vec<Task>,
    /// Only this fault (may be given several times)
    #[arg(long, value_enum, value_name = "FAULT")]
    pub fault: Vec<Fault>,
    /// Instead, kill a run in several processes and resume it with another number of them each time
    #[arg(long, conflicts_with_all = ["task", "fault"])]
    pub ranks: bool,
}

/// Builds `trainer`, runs a campaign and prints its counts.
///
/// # Errors
/// Fails if the program cannot be built or does not work without a fault. A violation is not an
/// error; the exit code tells of it.
pub fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    if options.ranks {
        setup::mpi::ensure()?;
    }
    let trainer = build(root)?;
    let violations = if options.ranks {
        let kills = ranks::campaign(&trainer, options.rounds, options.seed)?;
        print!("{kills}");
        kills.violations
    } else {
        let summary = campaign(root, &trainer, options)?;
        print!("{summary}");
        summary.violations
    };
    Ok(if violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Builds `trainer`, with MPI where that is installed, and returns its path. A test is built with it,
/// so that fewer packages differ from those of a build of all tests.
///
/// # Errors
/// If it cannot be built.
pub fn build(root: &Path) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo
        .args("build --workspace --bin trainer --test native".split(' '))
        .args(paths::QUICK);
    if setup::mpi::is_installed() {
        cargo.args(setup::mpi::FEATURES);
    }
    execute(cargo.current_dir(root))?;
    Ok(paths::quick(root).join("trainer"))
}

/// Runs a campaign with a built `trainer`, with a line on standard error for each round.
///
/// # Errors
/// If a task does not work without a fault, or this machine cannot cause a fault.
pub fn campaign(root: &Path, trainer: &Path, options: &Options) -> Result<Summary> {
    let (tasks, faults) = (or_all(&options.task), or_all(&options.fault));
    let folder = tempfile::tempdir().context("a temporary folder")?;
    let needs_model = tasks.iter().any(|task| task.needs_a_model());
    let inputs = Inputs::build(root, trainer, folder.path(), needs_model)?;
    let campaign = Campaign::new(inputs, folder.path(), tasks)?;
    let mut chance = Chance::new(options.seed);
    let mut summary = Summary::new(options.seed, campaign.disk());
    for number in 1..=options.rounds {
        let (task, fault) = (chance.one_of(tasks), chance.one_of(faults));
        let outcome = campaign.round(task, fault, &mut chance)?;
        eprintln!("{number}/{}: {outcome}", options.rounds);
        summary.add(outcome);
    }
    Ok(summary)
}

/// Returns the values that were given, or all if none was.
fn or_all<T: ValueEnum>(given: &[T]) -> &[T] {
    if given.is_empty() {
        T::value_variants()
    } else {
        given
    }
}
