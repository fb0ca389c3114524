//! Whether a folder of prepared shards (`trainer data prepare`) is complete.

use std::io::Read;
use std::path::{Path, PathBuf};

use espalier_io::disk::read;
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
/// [`DataError::Prepared`].
pub fn check_finished(folder: &Path) -> Result<()> {
    if folder.join(PREPARING).exists() {
        return Err(unfinished(folder));
    }
    Ok(())
}

fn unfinished(folder: &Path) -> DataError {
    DataError::Prepared {
        folder: folder.to_owned(),
        reason: format!(
            "expected all prepared shards, found {PREPARING} of a `trainer data prepare` that has \
             not ended; run the same command again to finish it"
        ),
    }
}

/// Refuses a folder of prepared shards that lacks one of them. Other folders are accepted.
///
/// # Errors
/// [`DataError::Prepared`] that names the missing shards.
pub fn check_complete(folder: &Path) -> Result<()> {
    check_finished(folder)?;
    let path = folder.join(PREPARED);
    if !path.exists() {
        return Ok(());
    }
    let bytes = read::bytes(&path).map_err(DataError::io(&path))?;
    check_list(folder, &bytes, |tar| folder.join(tar).exists())
}

/// As [`check_complete`], for a folder in object storage with these objects.
///
/// # Errors
/// [`DataError::Prepared`] that names the missing shards.
pub fn check_listed(folder: &Path, objects: &[PathBuf]) -> Result<()> {
    let has = |name: &str| {
        objects
            .iter()
            .any(|o| o.file_name().is_some_and(|n| n == name))
    };
    if has(PREPARING) {
        return Err(unfinished(folder));
    }
    let list = |path: &&PathBuf| path.file_name().is_some_and(|name| name == PREPARED);
    let Some(path) = objects.iter().find(list) else {
        return Ok(());
    };
    let mut bytes = Vec::new();
    ShardFile::open(path)
        .and_then(|file| ShardReader::new(file, 0).read_to_end(&mut bytes))
        .map_err(DataError::io(path))?;
    check_list(folder, &bytes, has)
}

/// Checks that the shards of a list are there.
fn check_list(folder: &Path, list: &[u8], has: impl Fn(&str) -> bool) -> Result<()> {
    let incomplete = |reason: String| DataError::Prepared {
        folder: folder.to_owned(),
        reason,
    };
    let list: List = serde_json::from_slice(list)
        .map_err(|e| incomplete(format!("expected a list of shards in {PREPARED}: {e}")))?;
    let tars = list.shards.iter().map(|shard| shard.tar.as_str());
    let missing: Vec<&str> = tars.filter(|tar| !has(tar)).collect();
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
