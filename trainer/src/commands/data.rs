//! `trainer data audit`, `trainer data bench` and `trainer data prepare`.

mod bench_table;
mod tables;

use std::sync::Arc;

use anyhow::Context;
use bench_table::bench_table;
use espalier_checkpoints::model_file::vocabulary;
use espalier_data::formats::captions;
use espalier_data::formats::registry::{self, Need};
use espalier_data::records::source::Dataset;
use espalier_data::tools::audit::audit as read_all;
use espalier_data::tools::bench::Bench;
use espalier_data::tools::prepare::prepare as write_all;
use espalier_data::{BatchSpec, DataError, Grit, Needs, Splits, Synthetic};
use espalier_io::output::line;
use espalier_io::storage::set_cache;
use serde::Serialize;
use tables::{audit_table, prepare_table};

use super::progress::Progress;
use crate::cli::{AuditArgs, AuditDataset, BenchArgs, BenchDataset, PrepareArgs, PrepareDataset};

/// Number of records and image side in pixels of the synthetic dataset in an audit.
const SYNTHETIC: (u64, u32) = (4096, 64);

/// Reads the whole dataset and prints counts as a table or as JSON.
///
/// # Errors
/// If the dataset cannot be opened; broken records are counted, not an error.
pub fn audit(args: &AuditArgs) -> anyhow::Result<()> {
    set_cache(args.data_cache.folder.as_deref(), args.data_cache.gib);
    let dataset: Arc<dyn Dataset> = match args.dataset {
        AuditDataset::Grit => Arc::new(Grit::open(&args.paths)?),
        AuditDataset::Captions => captions::open(&args.paths, Splits::ALL)?,
        AuditDataset::Images => registry::open(&args.paths, Need::Labels)?,
        AuditDataset::Parts => registry::open(&args.paths, Need::Boxes)?,
        AuditDataset::Synthetic => {
            if let Some(path) = args.paths.first() {
                return Err(DataError::Setting {
                    field: "PATH",
                    expected: "absent, because the synthetic dataset is generated on the fly",
                    found: path.display().to_string(),
                }
                .into());
            }
            Arc::new(Synthetic::new(SYNTHETIC.0, SYNTHETIC.1, 0))
        }
    };
    let progress = Progress::new("audit", "records", dataset.records());
    let report = pool(args.workers)?.install(|| read_all(&*dataset, &|n| progress.advance(n)))?;
    progress.finish();
    print(args.json, &report, audit_table)
}

/// Measures what records cost and prints it as a table or as JSON.
///
/// # Errors
/// If the dataset cannot be opened, has no usable record, or object storage fails.
pub fn bench(args: &BenchArgs) -> anyhow::Result<()> {
    set_cache(args.data_cache.folder.as_deref(), args.data_cache.gib);
    let BenchDataset::Grit = args.dataset;
    let dataset = Grit::open(&args.paths)?;
    let model = args.model.config();
    let tokenizer = model.text.tokenizer(vocabulary(&model.text))?;
    let spec = BatchSpec {
        needs: if args.boxes {
            Needs::Boxes
        } else {
            Needs::Captions
        },
        ..BatchSpec::new(1, model.vision.image_size as u32, model.text.context)
    };
    let progress = Progress::new("bench", "records", args.records.min(dataset.records()));
    let bench = Bench {
        dataset: &dataset,
        tokenizer: &tokenizer,
        spec: &spec,
        records: args.records,
        progress: &|n| progress.advance(n),
    };
    let report = bench.run(&pool(args.workers)?)?;
    progress.finish();
    print(args.json, &report, bench_table)
}

/// Writes prepared shards and prints what was written.
///
/// # Errors
/// If the dataset cannot be opened or the output cannot be written.
pub fn prepare(args: &PrepareArgs) -> anyhow::Result<()> {
    set_cache(args.data_cache.folder.as_deref(), args.data_cache.gib);
    let PrepareDataset::Grit = args.dataset;
    let dataset = Grit::open(&args.paths)?;
    let progress = Progress::new("prepare", "records", dataset.records());
    let report =
        pool(args.workers)?.install(|| write_all(&dataset, &args.out, &|n| progress.advance(n)))?;
    progress.finish();
    print(args.json, &report, prepare_table)
}

fn pool(workers: usize) -> anyhow::Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .context("starting the worker threads")
}

/// Prints a report as JSON or as a table.
fn print<R: Serialize>(json: bool, report: &R, table: fn(&R) -> String) -> anyhow::Result<()> {
    line(match json {
        true => serde_json::to_string(report)?,
        false => table(report),
    })
}
