//! The grammar of `trainer eval`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::common::Common;
use crate::eval::suite::Suite;
use crate::eval::{Options, tasks};

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
