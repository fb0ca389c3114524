//! Helpers that open, read and batch data in one call each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use espalier_core::input::Tokenizer;
use espalier_trainer::data::records::order::ShuffleBudget;
use espalier_trainer::data::records::source::{Dataset, Record};
use espalier_trainer::data::tools::audit::{AuditReport, audit};
use espalier_trainer::data::{
    Batch, BatchSpec, BatchStream, Cause, DataError, Grit, Position, Positions,
};

use crate::data::shards::{Row, write_parquet};

pub fn open(paths: &[&Path]) -> Result<Grit, DataError> {
    Grit::open(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
}

/// Writes rows into a folder as one shard of parquet, and opens it.
pub fn dataset(dir: &Path, rows: &[Row], rows_per_group: usize) -> Arc<dyn Dataset> {
    let path = dir.join("a.parquet");
    write_parquet(&path, rows, rows_per_group);
    Arc::new(open(&[&path]).unwrap())
}

pub fn error_of(path: &Path) -> DataError {
    open(&[path]).err().unwrap()
}

/// Reads all records in file order, broken ones as `(key, cause)`.
pub fn read_all(data: &dyn Dataset) -> Vec<Result<Record, (String, Cause)>> {
    (0..data.units().len())
        .flat_map(|unit| {
            let loaded = data.load(unit).unwrap();
            (0..data.units()[unit].records as usize)
                .map(|row| loaded.read(row).map_err(|b| (b.key, b.fault.cause)))
                .collect::<Vec<_>>()
        })
        .collect()
}

pub fn tokenizer() -> Arc<Tokenizer> {
    Arc::new(Tokenizer::from_merges("r e\nre d</w>\n", 516).unwrap())
}

/// Returns a spec whose shuffling crosses units and groups of the small datasets used here.
pub fn spec(batch_size: usize) -> BatchSpec {
    BatchSpec {
        workers: 1,
        shuffle: ShuffleBudget {
            records: 20,
            bytes: 1 << 30,
        },
        ..BatchSpec::new(batch_size, 16, 32)
    }
}

pub fn stream(data: Arc<dyn Dataset>, spec: BatchSpec, from: impl Into<Positions>) -> BatchStream {
    BatchStream::start(data, tokenizer(), spec, from).unwrap()
}

pub fn audited(data: &dyn Dataset) -> AuditReport {
    audit(data, &|_| ()).unwrap()
}

/// Returns the first batches of an epoch.
pub fn first(data: &Arc<dyn Dataset>, spec: BatchSpec, n: usize) -> Vec<Batch> {
    take(stream(Arc::clone(data), spec, Position::default()), n)
}

pub fn take(stream: BatchStream, n: usize) -> Vec<Batch> {
    stream.take(n).map(Result::unwrap).collect()
}
