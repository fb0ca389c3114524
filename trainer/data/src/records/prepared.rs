//! Whether a folder of prepared shards (`trainer data prepare`) is complete.

use std::io::Read;
use std::path::{Path, PathBuf};

use espalier_io::storage::{ShardFile, ShardReader};
use serde::Deserialize;

use crate::records::error::{DataError, Result};

/// Name of the list of all shards of a folder, written after the last of them.
pub const PREPARED: &str = "prepared.json";
/// Name of the list of finished shards while others are missing.
pub const PREPARING: &str = "preparing.json";

#[derive(Deserialize)]
struct Shard {
    tar: String,
}

#[derive(Deserialize)]
struct List {
    shards: Vec<Shard>,
}

/// Refuses a folder whose preparation has not ended.
///
/// # Errors
/// [`DataError::Unusable`].
pub fn check_finished(folder: &Path) -> Result<()> {
    if folder.join(PREPARING).exists() {
        return Err(unfinished(folder));
    }
    Ok(())
}

fn unfinished(folder: &Path) -> DataError {
    let reason = format!(
        "expected all prepared shards, found {PREPARING} of a `trainer data prepare` that has not \
         ended; run the same command again to finish it"
    );
    DataError::unusable(folder, reason)
}

/// Refuses a folder of prepared shards that lacks one of them. Other folders are accepted. `files` are all files of the
/// folder, which may be in object storage.
///
/// # Errors
/// [`DataError::Unusable`] that names the missing shards.
pub fn check_complete(folder: &Path, files: &[PathBuf]) -> Result<()> {
    let named = |name: &str| {
        let mut files = files.iter();
        files.find(|file| file.file_name().is_some_and(|n| n == name))
    };
    if named(PREPARING).is_some() {
        return Err(unfinished(folder));
    }
    let Some(path) = named(PREPARED) else {
        return Ok(());
    };
    let mut bytes = Vec::new();
    ShardFile::open(path)
        .and_then(|file| ShardReader::new(file, 0).read_to_end(&mut bytes))
        .map_err(DataError::io(path))?;
    let incomplete = |reason: String| DataError::unusable(folder, reason);
    let list: List = serde_json::from_slice(&bytes)
        .map_err(|e| incomplete(format!("expected a list of shards in {PREPARED}: {e}")))?;
    let tars = list.shards.iter().map(|shard| shard.tar.as_str());
    let missing: Vec<&str> = tars.filter(|tar| named(tar).is_none()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(incomplete(format!(
        "expected the {} shards of {PREPARED}, found none of the name {}; run `trainer data prepare` \
         again, or name the shards to use one by one",
        list.shards.len(),
        missing.join(", ")
    )))
}
