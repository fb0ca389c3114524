//! Command line of `trainer eval`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use espalier_eval::options::READING;
use espalier_eval::suite::Suite;
use espalier_eval::{Options, tasks};

use super::common::Common;

/// Evaluate a model. docs/evaluation.md lists the tasks, their data and their metrics.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Example: trainer eval --checkpoint logs/first --task zero-shot,hierarchy \
    --data val.parquet --json\n         trainer eval --checkpoint logs/first --suite papers --data \
    benchmarks/ --report report.html"
)]
pub struct EvalArgs {
    /// Run folder, checkpoint, bundle, hf-hub:org/name or a name of `trainer models`; not needed with
    /// precomputed embeddings.
    #[arg(long, visible_alias = "model", value_name = "MODEL")]
    pub checkpoint: Option<PathBuf>,
    /// Tasks to run, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "suite",
        conflicts_with = "suite",
        value_parser = PossibleValuesParser::new(tasks::ALL.iter().map(|task| {
            PossibleValue::new(task.name).help(task.about)
        }))
    )]
    pub task: Vec<String>,
    /// Run every task whose data is found below --data, one folder per benchmark.
    #[arg(long, value_enum)]
    pub suite: Option<Suite>,
    /// Data of the tasks: files, folders and globs.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub data: Vec<PathBuf>,
    /// Options of the tasks.
    #[command(flatten)]
    pub options: Options,
    /// Folder for cached embeddings; default: the user's cache folder.
    #[arg(long, value_name = "DIR", help_heading = READING)]
    pub cache: Option<PathBuf>,
    /// Do not cache embeddings.
    #[arg(long, conflicts_with = "cache", help_heading = READING)]
    pub no_cache: bool,
    /// Also write the results to this file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write an HTML page with tables and wrong answers.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Shared arguments.
    #[command(flatten)]
    pub common: Common,
}
