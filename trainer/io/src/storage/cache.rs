//! Where blocks of objects are kept on disk, and how many of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::disk::cache::cache_folder;

/// GiB that are kept unless a command says otherwise.
const DEFAULT_GIB: u64 = 16;

/// Folder and size of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The folder; created when the first block is kept.
    pub(super) folder: PathBuf,
    /// Most bytes that are kept.
    pub(super) bytes: u64,
}

/// Whether the network may not be used.
static OFFLINE: AtomicBool = AtomicBool::new(false);
static SETTINGS: Mutex<Option<Settings>> = Mutex::new(None);

/// Chooses the folder of the cache, by default `espalier/data` in the user's cache folder, and its size
/// in GiB, by default 16. It holds for the objects that this process opens from now on; local files are not cached.
pub fn set_cache(folder: Option<&Path>, gib: Option<u64>) {
    let mut settings = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    *settings = Some(Settings::new(folder, gib));
}

/// Refuses all addresses from now on.
pub fn forbid_network() {
    OFFLINE.store(true, Ordering::Relaxed);
}

/// Returns whether the network may not be used.
#[cfg(feature = "cloud")]
pub(super) fn is_offline() -> bool {
    OFFLINE.load(Ordering::Relaxed)
}

impl Settings {
    fn new(folder: Option<&Path>, gib: Option<u64>) -> Self {
        Self {
            folder: folder.map_or_else(|| cache_folder("data"), Path::to_owned),
            bytes: gib.unwrap_or(DEFAULT_GIB).saturating_mul(1 << 30),
        }
    }
}

/// Returns the settings that hold now.
#[cfg(feature = "cloud")]
pub(super) fn settings() -> Settings {
    let settings = SETTINGS.lock().unwrap_or_else(PoisonError::into_inner);
    settings
        .clone()
        .unwrap_or_else(|| Settings::new(None, None))
}
