//! The grammar of the command line, and nothing else.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use espalier_core::model::Preset;

use crate::commands::data::{AuditArgs, PrepareArgs};
use crate::commands::import::ImportArgs;
use crate::commands::plot::PlotCommand;
use crate::commands::verify::VerifyArgs;
use crate::config::DatasetKind;
use crate::device::Backend;
use crate::eval::suite::Suite;
use crate::eval::{Options, tasks};
use crate::export::published::ExportFormat;
use crate::fit::method::MethodName;
use crate::fit::towers::Precision;

/// Trains, evaluates and exports models of visual-semantic hierarchies.
#[derive(Debug, Parser)]
#[command(name = "trainer", version, propagate_version = true)]
pub struct Cli {
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train a model.
    Fit(Box<FitArgs>),
    /// Measure a model; one JSON object a task.
    Eval(Box<EvalArgs>),
    /// Caption photos as the page does.
    Caption(CaptionArgs),
    /// Embed pictures or texts.
    Embed(EmbedArgs),
    /// Turn a published checkpoint into one of ours.
    Import(Box<ImportArgs>),
    /// Write a quantised bundle for the page, or a checkpoint for other programs.
    Export(ExportArgs),
    /// Compute a result of the page again, and say where it differs.
    Verify(VerifyArgs),
    /// Draw a figure, SVG or PNG.
    #[command(subcommand)]
    Plot(PlotCommand),
    /// Look at a dataset or prepare it.
    #[command(subcommand)]
    Data(DataCommand),
}

/// What to do with a dataset.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Count what is there and what is broken.
    Audit(AuditArgs),
    /// Write shards with boxes cut out.
    Prepare(PrepareArgs),
}

/// What every command that computes takes.
#[derive(Args, Clone, Debug)]
pub struct Common {
    /// Where to compute.
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// Never use the network. Only `import` ever does; accepted so that scripts can say it.
    #[arg(long)]
    pub offline: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

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

/// Measure a model. Tasks, what each needs and which numbers come out: docs/evaluation.md.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer eval --checkpoint logs/first --task zero-shot,hierarchy \
    --data val.parquet --json\n         trainer eval --checkpoint logs/first --suite papers --data \
    benchmarks/ --report report.html"
)]
pub struct EvalArgs {
    /// Run, checkpoint or bundle; not needed with embeddings brought along.
    #[arg(long, value_name = "CKPT")]
    pub checkpoint: Option<PathBuf>,
    /// Tasks.
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "suite",
        conflicts_with = "suite",
        value_parser = PossibleValuesParser::new(tasks::names())
    )]
    pub task: Vec<String>,
    /// Every task whose data is found below --data, a folder a benchmark.
    #[arg(long, value_enum)]
    pub suite: Option<Suite>,
    /// Data of the tasks: files, folders and globs.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub data: Vec<PathBuf>,
    /// What the tasks are told.
    #[command(flatten)]
    pub options: Options,
    /// Folder to keep embeddings in; the user's cache folder where it is not given.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Keep no embeddings.
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
    /// Write the objects to this file too, one a line.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write a page with tables and wrong answers.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// Caption photos.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer caption --model static/models/default photo.jpg --json")]
pub struct CaptionArgs {
    /// Run, checkpoint or bundle.
    #[arg(long, value_name = "C_OR_BUNDLE")]
    pub model: PathBuf,
    /// Photos.
    #[arg(required = true, value_name = "PHOTO")]
    pub photos: Vec<PathBuf>,
    /// Part of the photo to caption, as shares of its width and height.
    #[arg(long, value_name = "x1,y1,x2,y2", value_delimiter = ',', num_args = 1)]
    pub region: Option<Vec<f32>>,
    /// Node of the taxonomy that the photo is known to show something at or below.
    #[arg(long, value_name = "NODE")]
    pub below: Option<String>,
    /// Print receipts, from which `trainer verify` computes the result again; needs a bundle.
    #[arg(long)]
    pub receipt: bool,
    /// Captions for a checkpoint, see `trainer export`.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Taxonomy for a checkpoint.
    #[arg(long, value_name = "FILE")]
    pub taxonomy: Option<PathBuf>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// Embed pictures or texts.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer embed --model logs/first --images photos/ --out e.safetensors"
)]
pub struct EmbedArgs {
    /// Run, checkpoint or bundle.
    #[arg(long, value_name = "C_OR_BUNDLE")]
    pub model: PathBuf,
    /// Folder of pictures.
    #[arg(long, value_name = "DIR", conflicts_with = "texts")]
    pub images: Option<PathBuf>,
    /// File with one text a line.
    #[arg(long, value_name = "FILE", required_unless_present = "images")]
    pub texts: Option<PathBuf>,
    /// What is written of a picture.
    #[arg(long, value_enum, default_value = "point", requires = "images")]
    pub feature: Feature,
    /// Where to write the tensor `embeddings` [n, d] and, in the metadata, the `names` of its rows.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}

/// What is taken of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Feature {
    /// Its point in the embedding space.
    Point,
    /// The pooled feature of the image encoder, before the projection.
    Pooled,
    /// The logits of the classifier that lies beside the checkpoint.
    Logits,
}

/// How tensors of a bundle are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportDtype {
    /// int8 with one scale per output channel.
    Q8,
    /// The same with 63 levels in the towers, deflated: a third fewer bytes.
    Q6,
    /// 32-bit floats.
    Fp32,
}

/// Write a bundle for the page, or a checkpoint for other programs.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer export --checkpoint logs/first --out bundle/ --dtype q8\n\
                  Example: trainer export --checkpoint logs/first --site site/\n\
                  Example: trainer export --checkpoint clip-b32 --format hf --out clip-b32-hf/"
)]
pub struct ExportArgs {
    /// Run or checkpoint; with --site also a bundle, which is taken as it is.
    #[arg(long, value_name = "CKPT")]
    pub checkpoint: PathBuf,
    /// Folder to write to; must not hold such a thing yet. Not needed with --site.
    #[arg(long, value_name = "DIR", required_unless_present = "site")]
    pub out: Option<PathBuf>,
    /// Folder for a whole site: the page, its widget, the bundle and an example of a project page,
    /// for any host of static files.
    #[arg(long, value_name = "DIR")]
    pub site: Option<PathBuf>,
    /// Folder of the built page for --site; looked for beside this program where not given.
    #[arg(long, value_name = "DIST", requires = "site")]
    pub page: Option<PathBuf>,
    /// Address at which the site will lie, for the lines to embed it with.
    #[arg(
        long,
        value_name = "URL",
        requires = "site",
        default_value = "https://example.org/espalier"
    )]
    pub url: String,
    /// What is written; all but `bundle` are for other programs and hold 32-bit floats.
    #[arg(long, value_enum, default_value = "bundle")]
    pub format: ExportFormat,
    /// How tensors of a bundle are stored.
    #[arg(long, value_enum, default_value = "q8")]
    pub dtype: ExportDtype,
    /// Captions, one a line or JSON lines with text, node and detail; made from the taxonomy where
    /// not given.
    #[arg(long, value_name = "FILE")]
    pub captions: Option<PathBuf>,
    /// Leave out captions that say where in the picture a thing is, for encoders whose features have
    /// lost its place.
    #[arg(long, conflicts_with = "captions")]
    pub no_places: bool,
    /// Table of nouns, WordNet's or of its form: typed words that name no node are looked up in it.
    #[arg(long, value_name = "FILE")]
    pub nouns: Option<PathBuf>,
    /// Taxonomy file, or a shipped taxonomy by name: wordnet or imagenet; that of the run where it
    /// is not given.
    #[arg(long, value_name = "FILE|NAME")]
    pub taxonomy: Option<PathBuf>,
    /// Labelled pictures for the gate and the calibration; the run's validation data, else its
    /// training data, where not given.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub probe: Vec<PathBuf>,
    /// Pictures of the probe that are used.
    #[arg(long, default_value_t = 2000, value_name = "N")]
    pub probe_size: usize,
    /// Largest loss of top-1 by quantisation, in points of a hundred.
    #[arg(long, default_value_t = 0.5, value_name = "POINTS")]
    pub max_drop: f64,
    /// Name of the model in the manifest; that of the run where not given.
    #[arg(long)]
    pub name: Option<String>,
    /// Version of the model in the manifest.
    #[arg(long, default_value = "0.1.0")]
    pub model_version: String,
    /// Markdown for the model card: what the data is, what the model is for and where it fails.
    #[arg(long, value_name = "FILE")]
    pub notes: Option<PathBuf>,
    /// Replace a bundle that is there.
    #[arg(long)]
    pub force: bool,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
