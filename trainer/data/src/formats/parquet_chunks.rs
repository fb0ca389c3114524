//! A shard as the reader of parquet wants it.

use std::io::BufReader;
use std::sync::Arc;

use bytes::Bytes;
use espalier_io::storage::{ShardFile, ShardReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};

/// A shard with its length.
pub(crate) struct Chunks {
    pub(crate) file: Arc<ShardFile>,
    /// In bytes.
    pub(crate) len: u64,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<ShardReader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(ShardReader::new(
            Arc::clone(&self.file),
            start,
        )))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // A damaged footer must not exhaust the memory.
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!(
                "expected {length} bytes at {start}, found a file of {} bytes",
                self.len
            )));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}
