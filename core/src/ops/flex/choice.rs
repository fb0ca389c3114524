//! Whether the own operations are used.

use std::sync::atomic::{AtomicBool, Ordering};

static IN_USE: AtomicBool = AtomicBool::new(true);

/// Chooses whether the own operations are used, in the whole process; they are at the start. Tests
/// and measurements compare both.
pub fn use_own(own: bool) {
    IN_USE.store(own, Ordering::Relaxed);
}

/// Returns whether the own operations are used.
pub fn in_use() -> bool {
    IN_USE.load(Ordering::Relaxed)
}
