//! Command line of `trainer data`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use espalier_core::model::Preset;

use super::common::DataCache;

/// Commands on datasets.
#[derive(Clone, Debug, Subcommand)]
pub enum DataCommand {
    /// Count the records of a dataset and the broken ones.
    Audit(AuditArgs),
    /// Measure how fast records are read, decoded, cropped and tokenised.
    Bench(BenchArgs),
    /// Write shards with the boxes cropped.
    Prepare(PrepareArgs),
}

/// Datasets that can be audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditDataset {
    /// Image-text-box shards: parquet, img2dataset tars, prepared tars.
    Grit,
    /// Images with captions and no boxes: Karpathy's or COCO's captions JSON, tables, text files beside
    /// images, shards.
    Captions,
    /// Images with labels: class folders, lists, tars and the published forms of benchmarks.
    Images,
    /// Images with boxes: COCO's instances JSON, OpenImages.
    Parts,
    /// Coloured shapes generated on the fly; takes no path.
    Synthetic,
}

/// Datasets that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchDataset {
    /// Image-text-box shards: parquet, img2dataset tars, prepared tars.
    Grit,
}

/// Measure how many images per second can be read, decoded, cropped and tokenised: each stage on one
/// core, then all of them on all cores.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer data bench --dataset grit shards/ --boxes")]
pub struct BenchArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: BenchDataset,
    /// Files, folders, globs and addresses, in any mix.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Number of records to measure. They are read from the first shard on; whole row groups are read.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub records: u64,
    /// Architecture whose image size and text length are used.
    #[arg(long, value_name = "PRESET", default_value = "vit_b16_224")]
    pub model: Preset,
    /// Also crop one box of each image and tokenise its phrase, as the method hycoclip does.
    #[arg(long)]
    pub boxes: bool,
    /// Number of threads of the last measurement; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub workers: usize,
    /// Where data from object storage is kept.
    #[command(flatten)]
    pub data_cache: DataCache,
    /// Print the measurements as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Datasets that can be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrepareDataset {
    /// Image-text-box shards: parquet or img2dataset tars.
    Grit,
}

/// Read every record and image of a dataset; count records, boxes and broken records.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer data audit --dataset grit 'shards/*.parquet' more.tar")]
pub struct AuditArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: AuditDataset,
    /// Files, folders and globs, in any mix.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Number of threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub workers: usize,
    /// Where data from object storage is kept.
    #[command(flatten)]
    pub data_cache: DataCache,
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Write shards with each box cropped, padded with white and resized to 224 px, in the format of
/// the reference implementations.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer data prepare --dataset grit shards/ --out prepared/\n\
                        Run an interrupted call again to resume it."
)]
pub struct PrepareArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: PrepareDataset,
    /// Files, folders and globs, in any mix.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Where data from object storage is kept.
    #[command(flatten)]
    pub data_cache: DataCache,
    /// Folder for the prepared shards.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Number of threads; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub workers: usize,
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub json: bool,
}
