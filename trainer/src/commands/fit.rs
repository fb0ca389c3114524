//! `trainer fit`.

mod configuration;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::cli::FitArgs;
use crate::config::{DatasetKind, TrainConfig};
use crate::device::Backend;
use crate::disk::run_folder::latest;
use crate::disk::write::write_atomic;
use crate::exit::usage;
use crate::fit::report::{LOG, METRICS, clock};
use crate::fit::{FitOutcome, Run, Source, checkpoint, run};
use crate::memory::{self, MIB};

pub use configuration::CONFIG;
use configuration::{configuration, separate_pairs};

/// Returns an unused name for the run: `grit-hycoclip-1`, `-2`, …
fn free_name(args: &FitArgs, config: &TrainConfig) -> String {
    let kind = match config.dataset.kind {
        DatasetKind::Grit => "grit",
        DatasetKind::Hierarcaps => "hierarcaps",
        DatasetKind::Taxonomy => "taxonomy",
        DatasetKind::Parts => "parts",
        DatasetKind::Synthetic => "synthetic",
    };
    let stem = format!("{kind}-{}", config.train.method.name());
    (1..)
        .map(|n| format!("{stem}-{n}"))
        .find(|name| !args.logs.join(name).exists())
        .unwrap_or(stem)
}

/// Returns the checkpoint that `--resume` names; `None` without the flag, or if the run has no
/// checkpoint yet.
fn resume_checkpoint(args: &FitArgs) -> anyhow::Result<Option<PathBuf>> {
    let Some(what) = &args.resume else {
        return Ok(None);
    };
    let name = args.name.as_deref().ok_or_else(|| {
        usage("--resume: name the run with --name NAME (and --logs DIR if it is not in logs/)")
    })?;
    let folder = args.logs.join(name);
    if !folder.join(CONFIG).exists() {
        return Err(usage(format!(
            "--resume: expected a run with a {CONFIG}, found none at {}",
            folder.display()
        )));
    }
    if what != "latest" {
        let path = PathBuf::from(what);
        checkpoint::read_state(&path)?;
        return Ok(Some(path));
    }
    let found = latest(&folder);
    if found.is_none() {
        eprintln!(
            "{}: no complete checkpoint yet; starting at step 0",
            folder.display()
        );
    }
    Ok(found)
}

/// Refuses a deterministic run on a backend that is not.
fn check_deterministic(config: &TrainConfig, backend: Backend) -> anyhow::Result<()> {
    if config.train.deterministic && backend != Backend::Flex {
        return Err(usage(format!(
            "--deterministic: expected --backend flex, found {}, whose sums depend on timing",
            backend.name()
        )));
    }
    Ok(())
}

/// Opens the validation data, if there is any.
fn validation(config: &TrainConfig) -> anyhow::Result<Option<Source>> {
    if config.dataset.val_data.is_empty() {
        return Ok(None);
    }
    let mut config = config.clone();
    config.dataset.data = config.dataset.val_data.clone();
    config.dataset.weights.clear();
    Source::open(&config).map(Some)
}

/// Sets `stop` at the first interrupt; a second one ends the process at once.
fn stop_at_interrupt(stop: &Arc<AtomicBool>) {
    let flag = Arc::clone(stop);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("interrupted: finishing the step and writing a checkpoint");
    };
    if let Err(e) = ctrlc::set_handler(handler) {
        eprintln!("warning: an interrupt will not write a checkpoint: {e}");
    }
}

/// Prints where the run is and its last values as JSON.
fn print_outcome(folder: &Path, outcome: FitOutcome) {
    let values = outcome.last.map_or_else(Vec::new, |r| r.values);
    let last: serde_json::Map<_, _> = values
        .into_iter()
        .map(|(name, v)| (name, json!(v)))
        .collect();
    println!(
        "{}",
        json!({
            "run": folder, "checkpoint": outcome.checkpoint, "step": outcome.step,
            "interrupted": outcome.interrupted, "last": last,
        })
    );
}

/// Trains a model, or with `--dry-run` takes one step and reports the cost.
///
/// # Errors
/// Bad usage, configuration or data (exit code 2), or a failure while running (1).
pub fn run(args: &FitArgs) -> anyhow::Result<()> {
    let args = &separate_pairs(args);
    let resume = resume_checkpoint(args)?;
    let config = configuration(args)?;
    if config.dataset.kind != DatasetKind::Synthetic && config.dataset.data.is_empty() {
        return Err(usage(
            "--data: expected files, folders or globs to train on, found none",
        ));
    }
    let backend = args.common.backend.resolve();
    let device = backend.device()?;
    check_deterministic(&config, backend)?;
    let encoder_threads = match backend {
        Backend::Flex => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        _ => 1,
    };
    if args.dry_run {
        return dry_run(
            args,
            Run {
                source: Source::open(&config)?,
                validation: validation(&config)?,
                config,
                folder: PathBuf::new(),
                device,
                encoder_threads,
                resume: None,
            },
        );
    }
    // Open the data before anything is written, so that an error leaves no run folder.
    let source = Source::open(&config)?;
    let validation = validation(&config)?;
    let name = args
        .name
        .clone()
        .unwrap_or_else(|| free_name(args, &config));
    let folder = run::folder(&args.logs, &name, args.resume.is_some())?;
    write_atomic(&folder.join(CONFIG), config.to_toml()?.as_bytes())?;

    let stop = Arc::new(AtomicBool::new(false));
    stop_at_interrupt(&stop);

    let outcome = Run {
        config,
        source,
        validation,
        folder: folder.clone(),
        device,
        encoder_threads,
        resume,
    }
    .train(&stop)
    .inspect_err(|_| remove_unused_folder(&folder, args.resume.is_some()))?;
    if args.common.json {
        print_outcome(&folder, outcome);
    }
    Ok(())
}

/// Removes the folder of a run that failed before its first step, so that its name is free again.
fn remove_unused_folder(folder: &Path, resumed: bool) {
    let lines = fs::metadata(folder.join(METRICS)).map_or(0, |found| found.len());
    if resumed || lines > 0 {
        return;
    }
    // Ignore clean-up errors: the user must see the original error. The folder stays if it contains
    // other files, which belong to the user.
    let _ = fs::remove_dir_all(folder.join("tensorboard"));
    for file in [CONFIG, METRICS, LOG] {
        let _ = fs::remove_file(folder.join(file));
    }
    let _ = fs::remove_dir(folder.join("checkpoints"));
    let _ = fs::remove_dir(folder);
}

fn dry_run(args: &FitArgs, run: Run) -> anyhow::Result<()> {
    let (report, seconds, records, total) = run.dry_run()?;
    let train = &run.config.train;
    let method = train.method.build(&run.config.loss);
    let chance = method.chance_level(run.config.samples_of_step());
    let disk = run.config.train.keep as u64 * run.config.checkpoint_bytes();
    let memory = memory::peak();
    if args.common.json {
        println!(
            "{}",
            json!({
                "records": records, "steps": total, "seconds_per_step": seconds,
                "eta_seconds": seconds * total as f64, "peak_memory_bytes": memory,
                "checkpoint_bytes_kept": disk, "chance": chance.map(|(term, value)| json!({term: value})),
                "values": report.values.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            })
        );
        return Ok(());
    }
    println!("records        {records}");
    println!(
        "steps          {total} of {} samples",
        run.config.samples_of_step()
    );
    println!(
        "one step       {seconds:.2} s, whole run {}",
        clock(seconds * total as f64)
    );
    if let Some(bytes) = memory {
        println!("peak memory    {:.0} MiB", bytes as f64 / MIB);
    }
    println!("checkpoints    {:.0} MiB on disk", disk as f64 / MIB);
    for (term, value) in &report.values {
        let at_chance = chance
            .filter(|(name, _)| name == term)
            .map_or_else(String::new, |(_, chance)| {
                format!(", at chance {chance:.4}")
            });
        println!("{term:14} {value:.4}{at_chance}");
    }
    Ok(())
}
