//! The grammar of `trainer fit`.

use std::path::PathBuf;

use clap::Args;
use espalier_core::model::Preset;

use super::common::Common;
use crate::config::{DatasetKind, MethodName, Precision};

/// Train a model. Flags win over `--config`, `key=value` over flags.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer fit --dataset grit --data shards/ --method hycoclip \
    --model vit_t8_64 --steps 5000 --name first optim.wd=0.1"
)]
pub struct FitArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: Option<DatasetKind>,
    /// Files, folders and globs to train on.
    #[arg(long, num_args = 1.., value_name = "PATH", alias = "train-data")]
    pub data: Vec<PathBuf>,
    /// The same for validation.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub val_data: Vec<PathBuf>,
    /// Method.
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Architecture: vit_t8_64, efficientnet_lite0, efficientnet_lite1, efficientnet_lite2,
    /// vit_s16_224, vit_b16_224, vit_l16_224, clip_vit_b32, clip_vit_b16, clip_vit_l14.
    #[arg(long, value_name = "PRESET")]
    pub model: Option<Preset>,
    /// Taxonomy file, or a shipped taxonomy by name: wordnet (the default) or imagenet.
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Samples of a pass.
    #[arg(long, value_name = "N")]
    pub batch_size: Option<usize>,
    /// Passes that make one step, contrasted as one batch; memory stays that of one.
    #[arg(long, value_name = "N")]
    pub accum_freq: Option<usize>,
    /// What the towers compute in; weights and geometry stay in 32 bits.
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// Leave the image encoder as it is; its projection learns. Features of photos and crops are
    /// computed once and kept.
    #[arg(long)]
    pub lock_image: bool,
    /// Leave the projection of the image encoder as it is.
    #[arg(long)]
    pub lock_projection: bool,
    /// Folder to keep features of a locked image encoder in; the user's cache folder where it is not
    /// given.
    #[arg(long, value_name = "DIR")]
    pub feature_cache: Option<PathBuf>,
    /// Views of each photo and crop whose features are kept; 1 for the crop of evaluation alone.
    #[arg(long, value_name = "K")]
    pub feature_views: Option<u32>,
    /// Leave the text tower as it is.
    #[arg(long)]
    pub lock_text: bool,
    /// Compute activations anew in the backward pass: less memory, more time.
    #[arg(long)]
    pub grad_checkpointing: bool,
    /// Give the same bits on any number of cores (CPU alone).
    #[arg(long)]
    pub deterministic: bool,
    /// Largest learning rate.
    #[arg(long)]
    pub lr: Option<f64>,
    /// Weight decay.
    #[arg(long)]
    pub wd: Option<f64>,
    /// Steps of linear warm-up.
    #[arg(long, value_name = "STEPS")]
    pub warmup: Option<u64>,
    /// Length of the run in steps.
    #[arg(long, conflicts_with = "epochs")]
    pub steps: Option<u64>,
    /// Length of the run in epochs.
    #[arg(long)]
    pub epochs: Option<u64>,
    /// Largest norm of the gradient; 0 for no limit.
    #[arg(long, value_name = "NORM")]
    pub grad_clip_norm: Option<f64>,
    /// Threads that prepare samples; 0 for one per core.
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Share of broken records at which the run stops.
    #[arg(long, value_name = "SHARE")]
    pub max_broken: Option<f64>,
    /// Checkpoint, run or bundle to start from.
    #[arg(long, value_name = "CKPT", alias = "pretrained")]
    pub init: Option<PathBuf>,
    /// Continue the run of this name: `latest`, or the path of one of its checkpoints.
    #[arg(long, value_name = "latest|PATH")]
    pub resume: Option<String>,
    /// Steps between checkpoints; 0 for a tenth of the run.
    #[arg(long, value_name = "STEPS")]
    pub save_frequency: Option<u64>,
    /// Seed of weights, order and augmentation.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Name of the run.
    #[arg(long)]
    pub name: Option<String>,
    /// Folder of all runs.
    #[arg(long, default_value = "logs", value_name = "DIR")]
    pub logs: PathBuf,
    /// TOML file with a part of the configuration, or `paper:METHOD` for a paper's values.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read data, take one real step at full size, say what the run will cost, write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Single keys of the configuration, for example `optim.beta2=0.95`.
    #[arg(value_name = "KEY=VALUE")]
    pub pairs: Vec<String>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
