//! A few rounds of `cargo xtask torture`, with faults that need no mounted disk and little time.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use espalier_lab::torture::{Fault, Options, Task, build, campaign};

/// Runs a campaign; it must end without a violation, and most of its faults must have had an effect.
fn survives(rounds: u32, seed: u64, task: &[Task], fault: &[Fault]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let options = Options {
        rounds,
        seed,
        ranks: false,
        task: task.to_vec(),
        fault: fault.to_vec(),
    };
    let built = std::env::var_os("ESPALIER_TRAINER").map(PathBuf::from);
    let trainer = built.unwrap_or_else(|| build(root).unwrap());
    let summary = campaign(root, &trainer, &options).unwrap();
    assert!(summary.violations.is_empty(), "{summary}");
    assert_eq!(summary.rounds(), rounds);
    assert!(summary.affected() > 0, "no fault had an effect: {summary}");
}

#[test]
#[ignore = "kills and starves programs: cargo xtask test --all"]
fn quick_commands_survive_a_few_faults() {
    survives(
        14,
        1,
        &[Task::Import, Task::Prepare, Task::Site],
        Fault::value_variants(),
    );
}

#[test]
#[ignore = "kills and starves programs: cargo xtask test --all"]
fn training_survives_a_few_faults() {
    survives(
        3,
        2,
        &[Task::Fit],
        &[Fault::Kill, Fault::FullDisk, Fault::Cut],
    );
}
