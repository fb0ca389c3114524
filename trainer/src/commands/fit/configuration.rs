//! The configuration of a run from the command line.

use std::path::PathBuf;

use anyhow::Context;
use espalier_checkpoints::model_file;
use serde::Serialize;
use toml::{Table, Value};

use super::resume::run_table;
use crate::cli::FitArgs;
use crate::config::TrainConfig;

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

/// Returns the flags of the command line as a layer of the configuration.
fn flag_layer(args: &FitArgs) -> anyhow::Result<Table> {
    let mut t = Table::new();
    macro_rules! flag {
        ($block:literal, $key:literal, $value:expr) => {
            if let Some(value) = &$value {
                insert(&mut t, $block, $key, value)?;
            }
        };
    }
    flag!("dataset", "kind", args.dataset);
    for (key, paths) in [("data", &args.data), ("val_data", &args.val_data)] {
        if !paths.is_empty() {
            insert(&mut t, "dataset", key, paths)?;
        }
    }
    flag!("dataset", "taxonomy", args.taxonomy);
    flag!("dataset", "workers", args.workers);
    flag!("dataset", "lanes", args.lanes);
    flag!("dataset", "max_broken", args.max_broken);
    flag!("dataset", "data_cache", args.data_cache.folder);
    flag!("dataset", "data_cache_gib", args.data_cache.gib);
    flag!("model", "preset", args.model);
    flag!("model", "init", args.init);
    flag!("optim", "lr", args.lr);
    flag!("optim", "wd", args.wd);
    flag!("optim", "warmup", args.warmup);
    flag!("optim", "grad_clip_norm", args.grad_clip_norm);
    flag!("optim", "ema", args.ema);
    flag!("train", "method", args.method);
    flag!("train", "batch_size", args.batch_size);
    flag!("train", "steps", args.steps.or(args.epochs.map(|_| 0)));
    flag!("train", "epochs", args.epochs.or(args.steps.map(|_| 0)));
    let num_samples = args.train_num_samples.or(args.steps.map(|_| 0));
    flag!("train", "num_samples", num_samples);
    flag!("train", "seed", args.seed);
    flag!("train", "accum_freq", args.accum_freq);
    flag!("train", "precision", args.precision);
    flag!("train", "feature_cache", args.feature_cache);
    flag!("dataset", "feature_views", args.feature_views);
    flag!("train", "report_to", args.report_to);
    flag!("train", "save_frequency", args.save_frequency);
    for (key, is_set) in [
        ("lock_image", args.lock_image),
        ("lock_projection", args.lock_projection),
        ("lock_text", args.lock_text),
        ("grad_checkpointing", args.grad_checkpointing),
        ("deterministic", args.deterministic),
    ] {
        if is_set {
            insert(&mut t, "train", key, true)?;
        }
    }
    Ok(t)
}

/// Moves `key=value` pairs from the paths to the pairs. `--data` takes all arguments up to the next
/// flag, so pairs after it are parsed as paths; one that names no existing file is a pair.
pub(super) fn separate_pairs(args: &FitArgs) -> FitArgs {
    let mut args = args.clone();
    let is_pair = |path: &PathBuf| {
        let text = path.to_string_lossy();
        let key = text
            .split_once('=')
            .and_then(|(key, _)| key.split_once('.'));
        key.is_some_and(|(block, _)| BLOCKS.contains(&block)) && !path.exists()
    };
    let mut pairs = Vec::new();
    for paths in [&mut args.data, &mut args.val_data] {
        let (misplaced, rest): (Vec<PathBuf>, Vec<PathBuf>) =
            std::mem::take(paths).into_iter().partition(is_pair);
        *paths = rest;
        let misplaced = misplaced.iter();
        pairs.extend(misplaced.map(|path| path.to_string_lossy().into_owned()));
    }
    args.pairs.splice(0..0, pairs);
    args
}

/// Returns the configuration of a run: its files, its flags and the pairs. A resumed run starts from
/// its own.
pub(super) fn configuration(args: &FitArgs) -> anyhow::Result<TrainConfig> {
    let (file, flags) = (args.config.as_deref(), flag_layer(args)?);
    let mut config = match &args.resume {
        // A resumed run keeps its configuration, except for values that are given again.
        Some(_) => TrainConfig::resolve_over(run_table(args)?, file, flags, &args.pairs)?,
        None => TrainConfig::resolve(file, flags, &args.pairs)?,
    };
    let model = &mut config.model;
    if let (None, Some(path)) = (&args.resume, &model.init) {
        let fixed = model_file::fixed_architecture(path)?;
        model.architecture = fixed.or(model.architecture.take());
    }
    Ok(config)
}
