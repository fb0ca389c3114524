//! The grammar of `trainer data`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Commands on datasets.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Count what is there and what is broken.
    Audit(AuditArgs),
    /// Write shards with boxes cut out.
    Prepare(PrepareArgs),
}

/// Datasets whose shards can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditDataset {
    /// Image-text-box shards: parquet, img2dataset tars, prepared tars.
    Grit,
    /// Coloured shapes made on the fly; takes no path.
    Synthetic,
}

/// Datasets that can be prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PrepareDataset {
    /// Image-text-box shards: parquet or img2dataset tars.
    Grit,
}

/// Read every record and picture of a dataset and count what is there.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example: trainer data audit --dataset grit 'shards/*.parquet' more.tar")]
pub struct AuditArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: AuditDataset,
    /// Files, folders and globs, mixed.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Threads; 0 takes one per core.
    #[arg(long, default_value_t = 0)]
    pub workers: usize,
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Write shards with boxes cut out, 224 px on white, readable by the reference implementations.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer data prepare --dataset grit shards/ --out prepared/\n\
                        A call that was interrupted goes on where it stopped."
)]
pub struct PrepareArgs {
    /// Kind of dataset.
    #[arg(long, value_enum)]
    pub dataset: PrepareDataset,
    /// Files, folders and globs, mixed.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Folder for the prepared shards.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Threads; 0 takes one per core.
    #[arg(long, default_value_t = 0)]
    pub workers: usize,
    /// Print the counts as one JSON object.
    #[arg(long)]
    pub json: bool,
}
