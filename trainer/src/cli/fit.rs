//! Command line of `trainer fit`.

use std::path::PathBuf;

use clap::Args;
use espalier_core::model::Preset;

use super::common::{Common, DataCache};
use crate::config::{DatasetKind, MethodName, Precision, ReportTo};

/// Train a model. Flags override `--config`; `key=value` overrides flags.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer fit --dataset grit --data shards/ --method hycoclip \
    --model vit_t8_64 --steps 5000 --name first optim.wd=0.1"
)]
pub struct FitArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: Option<DatasetKind>,
    /// Files, folders and globs to train on; also {00000..01023}.tar, {a,b}.tar, @FILE with one path
    /// per line, and addresses: s3://, gs://, az://, https://, http://.
    #[arg(long, num_args = 1.., value_name = "PATH", alias = "train-data")]
    pub data: Vec<PathBuf>,
    /// The same for validation.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub val_data: Vec<PathBuf>,
    /// Training method.
    #[arg(long, value_enum)]
    pub method: Option<MethodName>,
    /// Architecture: vit_t8_64, efficientnet_lite0, efficientnet_lite1, efficientnet_lite2,
    /// vit_s16_224, vit_b16_224, vit_l16_224, clip_vit_b32, clip_vit_b16, clip_vit_l14.
    #[arg(long, visible_alias = "architecture", value_name = "PRESET")]
    pub model: Option<Preset>,
    /// Taxonomy file, or the name of a shipped one: wordnet (the default) or imagenet.
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Samples per micro-batch.
    #[arg(long, value_name = "N")]
    pub batch_size: Option<usize>,
    /// Micro-batches per step. The loss contrasts all their samples as one batch; activation memory
    /// stays that of one micro-batch.
    #[arg(long, value_name = "N")]
    pub accum_freq: Option<usize>,
    /// Number format of the encoders' computation; weights and geometry stay in 32 bits.
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// Do not train the image encoder; train only its projection. The features of photos and crops
    /// are computed once and cached.
    #[arg(long)]
    pub lock_image: bool,
    /// Do not train the projection of the image encoder.
    #[arg(long)]
    pub lock_projection: bool,
    /// Folder for the cached features of a locked image encoder; default: the user's cache folder.
    #[arg(long, value_name = "DIR")]
    pub feature_cache: Option<PathBuf>,
    /// Number of views of each photo and crop whose features are cached; 1 for the evaluation crop
    /// only.
    #[arg(long, value_name = "K")]
    pub feature_views: Option<u32>,
    /// Do not train the text encoder.
    #[arg(long)]
    pub lock_text: bool,
    /// Recompute activations in the backward pass: less memory, more time.
    #[arg(long)]
    pub grad_checkpointing: bool,
    /// Compute bit-identical results on any number of cores (CPU only).
    #[arg(long)]
    pub deterministic: bool,
    /// Peak learning rate.
    #[arg(long, allow_negative_numbers = true)]
    pub lr: Option<f64>,
    /// Weight decay.
    #[arg(long, allow_negative_numbers = true)]
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
    /// Number of samples that make one epoch of --epochs; by default all records of the data. The
    /// next epoch goes on with the records that this one has not read.
    #[arg(long, value_name = "N", conflicts_with = "steps")]
    pub train_num_samples: Option<u64>,
    /// Maximum gradient norm; 0 for no clipping.
    #[arg(long, value_name = "NORM", allow_negative_numbers = true)]
    pub grad_clip_norm: Option<f64>,
    /// Keep an exponential moving average of the weights with this decay, such as 0.9998, in every
    /// checkpoint; evaluation and export use it. 0 for none.
    #[arg(long, value_name = "DECAY", allow_negative_numbers = true)]
    pub ema: Option<f64>,
    /// Formats of the metrics in the folder of the run: jsonl, tensorboard, or both. Default: both.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMAT")]
    pub report_to: Option<Vec<ReportTo>>,
    /// Number of threads that prepare samples; 0 for one per core.
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Number of lanes that the data is divided into. Each lane gives its share of every batch, so that each
    /// of several processes reads only some of the shards. A multiple of the number of processes is best.
    #[arg(long, value_name = "N")]
    pub lanes: Option<usize>,
    /// Fraction of broken records above which the run stops. Of fewer than 1,000 records, half may be broken,
    /// unless the fraction is 0.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub max_broken: Option<f64>,
    /// Where data from object storage is kept.
    #[command(flatten)]
    pub data_cache: DataCache,
    /// Model to start from: a checkpoint, run or bundle, hf-hub:org/name, or a name of `trainer models`.
    #[arg(long, value_name = "MODEL", alias = "pretrained")]
    pub init: Option<PathBuf>,
    /// Resume the run given by --name from its `latest` checkpoint, or from the checkpoint at this
    /// path.
    #[arg(long, value_name = "latest|PATH")]
    pub resume: Option<String>,
    /// Resume with a configuration that differs from that of the run and changes what it learns. The previous
    /// configuration is kept in the folder of the run.
    #[arg(long, requires = "resume")]
    pub resume_with_changes: bool,
    /// Steps between checkpoints; 0 for a tenth of the run.
    #[arg(long, value_name = "STEPS")]
    pub save_frequency: Option<u64>,
    /// Random seed of the weights, the sample order and the augmentation; the first weights are the same on all backends.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Name of the run.
    #[arg(long)]
    pub name: Option<String>,
    /// Folder of all runs.
    #[arg(long, default_value = "logs", value_name = "DIR")]
    pub logs: PathBuf,
    /// TOML file with a part of the configuration, `paper:METHOD` for the values of a paper,
    /// `default` or `tiny` for the recipe of a shipped model, `large-text` for that of the teacher of
    /// `default`, or `photos` for that of a folder of photos.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Read data, take one full-size training step, print the expected cost of the run, and write
    /// nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Single configuration keys, for example `optim.beta2=0.95`.
    #[arg(value_name = "KEY=VALUE")]
    pub pairs: Vec<String>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
