//! `trainer fit`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use toml::{Table, Value};

use crate::cli::FitArgs;
use crate::config::{DatasetKind, TrainConfig};
use crate::device::Backend;
use crate::disk::run_folder::latest;
use crate::disk::write::write_atomic;
use crate::exit::usage;
use crate::fit::report::{LOG, METRICS, clock};
use crate::fit::{Run, Source, checkpoint, run};
use crate::memory::{self, MIB};
use crate::model_file::{self, is_bundle};

/// Name of the resolved configuration in the folder of a run.
pub const CONFIG: &str = "config.toml";

/// Names of the blocks of the configuration.
const BLOCKS: [&str; 5] = ["dataset", "model", "optim", "loss", "train"];

fn insert(table: &mut Table, block: &str, key: &str, value: impl Serialize) -> anyhow::Result<()> {
    let value = Value::try_from(value).with_context(|| format!("{block}.{key}"))?;
    let block = table
        .entry(block)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(block) = block {
        block.insert(key.to_owned(), value);
    }
    Ok(())
}

/// Returns the given flags as a layer of the configuration.
fn layer(args: &FitArgs) -> anyhow::Result<Table> {
    let mut t = Table::new();
    macro_rules! flag {
        ($block:literal, $key:literal, $value:expr) => {
            if let Some(value) = &$value {
                insert(&mut t, $block, $key, value)?;
            }
        };
    }
    flag!("dataset", "kind", args.dataset);
    flag!(
        "dataset",
        "data",
        (!args.data.is_empty()).then_some(&args.data)
    );
    flag!(
        "dataset",
        "val_data",
        (!args.val_data.is_empty()).then_some(&args.val_data)
    );
    flag!("dataset", "taxonomy", args.taxonomy);
    flag!("dataset", "workers", args.workers);
    flag!("dataset", "max_broken", args.max_broken);
    flag!("model", "preset", args.model);
    flag!("model", "init", args.init);
    flag!("optim", "lr", args.lr);
    flag!("optim", "wd", args.wd);
    flag!("optim", "warmup", args.warmup);
    flag!("optim", "grad_clip_norm", args.grad_clip_norm);
    flag!("train", "method", args.method);
    flag!("train", "batch_size", args.batch_size);
    flag!("train", "steps", args.steps.or(args.epochs.map(|_| 0)));
    flag!("train", "epochs", args.epochs.or(args.steps.map(|_| 0)));
    flag!("train", "seed", args.seed);
    flag!("train", "accum_freq", args.accum_freq);
    flag!("train", "precision", args.precision);
    flag!("train", "lock_image", args.lock_image.then_some(true));
    flag!(
        "train",
        "lock_projection",
        args.lock_projection.then_some(true)
    );
    flag!("train", "feature_cache", args.feature_cache);
    flag!("dataset", "feature_views", args.feature_views);
    flag!("train", "lock_text", args.lock_text.then_some(true));
    flag!(
        "train",
        "grad_checkpointing",
        args.grad_checkpointing.then_some(true)
    );
    flag!("train", "deterministic", args.deterministic.then_some(true));
    flag!("train", "save_frequency", args.save_frequency);
    Ok(t)
}

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
fn resumed(args: &FitArgs) -> anyhow::Result<Option<PathBuf>> {
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

/// Moves `key=value` pairs from the paths to the pairs. `--data` takes all arguments up to the next
/// flag, so pairs after it are parsed as paths; one that names no existing file is a pair.
fn with_pairs_apart(args: &FitArgs) -> FitArgs {
    let mut args = args.clone();
    let is_pair = |path: &PathBuf| {
        let text = path.to_string_lossy();
        let key = text.split_once('=').map(|(key, _)| key);
        let is_key = |key: &str| {
            key.split_once('.')
                .is_some_and(|(block, _)| BLOCKS.contains(&block))
        };
        key.is_some_and(is_key) && !path.exists()
    };
    let mut pairs = Vec::new();
    for paths in [&mut args.data, &mut args.val_data] {
        let (found, kept) = std::mem::take(paths).into_iter().partition(is_pair);
        *paths = kept;
        let found: Vec<PathBuf> = found;
        pairs.extend(found.iter().map(|path| path.to_string_lossy().into_owned()));
    }
    args.pairs.splice(0..0, pairs);
    args
}

fn configuration(args: &FitArgs) -> anyhow::Result<TrainConfig> {
    let mut flags = Table::new();
    if let (Some(_), Some(name)) = (&args.resume, &args.name) {
        // A resumed run keeps its configuration, except for values that are given again.
        let path = args.logs.join(name).join(CONFIG);
        let text = fs::read_to_string(&path)
            .map_err(|e| usage(format!("--resume: {}: {e}", path.display())))?;
        flags = text
            .parse()
            .map_err(|e| usage(format!("{}: {e}", path.display())))?;
    }
    for (block, keys) in layer(args)? {
        let into = flags
            .entry(block)
            .or_insert_with(|| Value::Table(Table::new()));
        if let (Value::Table(into), Value::Table(keys)) = (into, keys) {
            into.extend(keys);
        }
    }
    let mut config = TrainConfig::resolve(args.config.as_deref(), flags, &args.pairs)?;
    let model = &mut config.model;
    let init = model.init.as_ref().filter(|path| !is_bundle(path));
    if let (None, Some(path)) = (&args.resume, init) {
        // An imported model has its own architecture, which may have no preset name.
        let card = model_file::card_of(path)?;
        if card.origin.is_some() {
            model.architecture = Some(card.config);
        }
    }
    Ok(config)
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

/// Trains a model, or with `--dry-run` takes one step and reports the cost.
///
/// # Errors
/// Bad usage, configuration or data (exit code 2), or a failure while running (1).
pub fn run(args: &FitArgs) -> anyhow::Result<()> {
    let args = &with_pairs_apart(args);
    let resume = resumed(args)?;
    let config = configuration(args)?;
    if config.dataset.kind != DatasetKind::Synthetic && config.dataset.data.is_empty() {
        return Err(usage(
            "--data: expected files, folders or globs to train on, found none",
        ));
    }
    let backend = args.common.backend.resolve();
    let device = backend.device()?;
    if config.train.deterministic && backend != Backend::Flex {
        return Err(usage(format!(
            "--deterministic: expected --backend flex, found {}, whose sums depend on timing",
            backend.name()
        )));
    }
    let tower_threads = match backend {
        Backend::Flex => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        _ => 1,
    };
    if args.dry_run {
        return rehearse(
            args,
            Run {
                source: Source::open(&config)?,
                validation: validation(&config)?,
                config,
                folder: PathBuf::new(),
                device,
                tower_threads,
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
    let flag = Arc::clone(&stop);
    // A second interrupt ends the process at once.
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("interrupted: finishing the step and writing a checkpoint");
    };
    if let Err(e) = ctrlc::set_handler(handler) {
        eprintln!("warning: an interrupt will not write a checkpoint: {e}");
    }

    let outcome = Run {
        config,
        source,
        validation,
        folder: folder.clone(),
        device,
        tower_threads,
        resume,
    }
    .go(&stop)
    .inspect_err(|_| forget_unused(&folder, args.resume.is_some()))?;
    if args.common.json {
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
    Ok(())
}

/// Removes the folder of a run that failed before its first step, so that its name is free again.
fn forget_unused(folder: &Path, resumed: bool) {
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

fn rehearse(args: &FitArgs, run: Run) -> anyhow::Result<()> {
    let (report, seconds, records, total) = run.dry()?;
    let train = &run.config.train;
    let method = train.method.build(&run.config.loss);
    let chance = method.chance(run.config.samples_of_step());
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
