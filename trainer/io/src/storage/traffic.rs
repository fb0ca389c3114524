//! Counts of the bytes that shards cost.

use std::sync::atomic::{AtomicU64, Ordering};

static READ: AtomicU64 = AtomicU64::new(0);
static FETCHED: AtomicU64 = AtomicU64::new(0);
static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// What this process has read from shards so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read from shards, wherever they are.
    pub read: u64,
    /// Bytes of them that came from object storage and not from the cache.
    pub fetched: u64,
    /// Answers of object storage, failed ones included.
    pub requests: u64,
}

/// Returns the counts of this process.
pub fn traffic() -> Traffic {
    Traffic {
        read: READ.load(Ordering::Relaxed),
        fetched: FETCHED.load(Ordering::Relaxed),
        requests: REQUESTS.load(Ordering::Relaxed),
    }
}

/// Counts bytes that a reader got.
pub(super) fn add_read(bytes: usize) {
    READ.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Counts an answer of a store and its bytes.
#[cfg(feature = "cloud")]
pub(super) fn add_answer(bytes: usize) {
    FETCHED.fetch_add(bytes as u64, Ordering::Relaxed);
    REQUESTS.fetch_add(1, Ordering::Relaxed);
}
