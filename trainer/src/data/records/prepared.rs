//! Whether a folder of prepared shards (`trainer data prepare`) is complete.

use std::path::Path;

use serde::Deserialize;

use crate::data::records::error::{DataError, Result};
use crate::disk::read;

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
/// [`DataError::Incomplete`].
pub fn check_finished(folder: &Path) -> Result<()> {
    if !folder.join(PREPARING).exists() {
        return Ok(());
    }
    Err(DataError::Incomplete {
        folder: folder.to_owned(),
        reason: format!(
            "expected all prepared shards, found {PREPARING} of a `trainer data prepare` that has \
             not ended; run the same command again to finish it"
        ),
    })
}

/// Refuses a folder of prepared shards that lacks one of them. Other folders are accepted.
///
/// # Errors
/// [`DataError::Incomplete`] that names the missing shards.
pub fn check_complete(folder: &Path) -> Result<()> {
    check_finished(folder)?;
    let path = folder.join(PREPARED);
    if !path.exists() {
        return Ok(());
    }
    let bytes = read::bytes(&path).map_err(DataError::io(&path))?;
    let incomplete = |reason: String| DataError::Incomplete {
        folder: folder.to_owned(),
        reason,
    };
    let list: List = serde_json::from_slice(&bytes)
        .map_err(|e| incomplete(format!("expected a list of shards in {PREPARED}: {e}")))?;
    let tars = list.shards.iter().map(|shard| shard.tar.as_str());
    let missing: Vec<&str> = tars.filter(|tar| !folder.join(tar).exists()).collect();
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_lacks_a_listed_shard_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        assert!(check_complete(dir.path()).is_ok());
        write(
            PREPARED,
            r#"{"shards":[{"tar":"00000.tar"},{"tar":"00001.tar"}]}"#,
        );
        write("00000.tar", "");
        let error = check_complete(dir.path()).unwrap_err();
        assert!(error.to_string().contains("00001.tar"), "{error}");
        assert_eq!(error.exit_code(), 2);
        write("00001.tar", "");
        assert!(check_complete(dir.path()).is_ok());
        write(PREPARING, "{}");
        let error = check_complete(dir.path()).unwrap_err().to_string();
        assert!(error.contains("has not ended"), "{error}");
    }
}
