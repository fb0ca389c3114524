//! The same shards in a folder and in object storage.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use espalier_tests::object_server::ObjectServer;
use espalier_trainer::data::records::source::Dataset;
use espalier_trainer::data::{DataError, Grit};
use espalier_trainer::storage::set_cache;
use tempfile::TempDir;

use crate::data::shards::{Row, raw_tar, row, rows, write_parquet};

/// Returns a record whose image cannot be packed, so that shards have many blocks.
fn large(number: usize) -> Row {
    let mut state = number as u64 + 1;
    let noise = (0..40_000).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    Row {
        image: noise.collect(),
        ..row(number)
    }
}

/// A folder with shards, and a server of the same objects.
pub(crate) struct Twin {
    pub(crate) folder: TempDir,
    pub(crate) server: ObjectServer,
}

impl Twin {
    pub(crate) fn new(write: impl Fn(&Path)) -> Self {
        // The cache is one for all tests of this process; each server has another address.
        static CACHE: OnceLock<TempDir> = OnceLock::new();
        let cache = CACHE.get_or_init(|| tempfile::tempdir().unwrap());
        set_cache(Some(cache.path()), Some(1));
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let server = ObjectServer::of("data", folder.path());
        Self { folder, server }
    }

    /// Six row groups and a tar, 70 records in all.
    pub(crate) fn mixed() -> Self {
        Self::new(|dir| {
            write_parquet(&dir.join("a.parquet"), &rows(0..40), 7);
            fs::write(dir.join("b.tar"), raw_tar(&rows(40..70))).unwrap();
        })
    }

    /// Twelve row groups of about 400 kB.
    pub(crate) fn large() -> Self {
        let rows: Vec<Row> = (0..120).map(large).collect();
        Self::new(|dir| write_parquet(&dir.join("a.parquet"), &rows, 10))
    }

    pub(crate) fn remote(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/data/{name}", self.server.address))
    }

    pub(crate) fn open(&self, names: &[&str]) -> [Arc<dyn Dataset>; 2] {
        let local: Vec<PathBuf> = names.iter().map(|n| self.folder.path().join(n)).collect();
        let remote: Vec<PathBuf> = names.iter().map(|n| self.remote(n)).collect();
        [
            Arc::new(Grit::open(&local).unwrap()),
            Arc::new(Grit::open(&remote).unwrap()),
        ]
    }

    pub(crate) fn error(&self, name: &str) -> DataError {
        Grit::open(&[self.remote(name)]).err().unwrap()
    }
}
