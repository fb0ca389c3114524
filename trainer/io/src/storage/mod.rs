//! Shards on disk and in object storage, read in the same way.
//!
//! A [`ShardFile`] is a local file, or with the feature `cloud` an object behind an address such as
//! `s3://bucket/shards/00000.parquet`. Objects are read in blocks, which are kept in a bounded cache
//! on disk. An object must not change while it is in use.

mod address;
#[cfg(feature = "cloud")]
mod blocks;
mod cache;
#[cfg(feature = "cloud")]
mod evict;
mod failure;
#[cfg(feature = "cloud")]
mod object;
mod shard_file;
#[cfg(feature = "cloud")]
mod stores;
mod traffic;
#[cfg(feature = "cloud")]
mod transport;
mod unpacked;

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use address::{check, is_remote, local_file, without_secrets};
pub use cache::{forbid_network, set_cache};
pub use failure::is_failure;
pub use shard_file::{ShardFile, ShardReader};
pub use traffic::{Traffic, traffic};

/// Returns a text that is equal for the same content of the object at an address; `None` for a local
/// path. An object that cannot be opened has another version each time.
pub fn version(path: &Path) -> Option<String> {
    if !is_remote(path) {
        return None;
    }
    let version = ShardFile::open(path).ok().and_then(|file| file.version());
    Some(version.unwrap_or_else(|| format!("{} {:?}", path.display(), SystemTime::now())))
}

/// Returns the objects directly below a prefix, in the order of their names.
///
/// # Errors
/// If the store cannot be reached or cannot list, and always without the feature `cloud`.
pub fn list(prefix: &Path) -> io::Result<Vec<PathBuf>> {
    #[cfg(feature = "cloud")]
    {
        object::list(&address::Address::parse(prefix)?)
    }
    #[cfg(not(feature = "cloud"))]
    {
        Err(address::not_built(prefix))
    }
}
