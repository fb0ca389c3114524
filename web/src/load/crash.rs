//! A marker in local storage that survives a crash of the tab.
//!
//! If a model is too large for a device, the browser kills the whole page and often reloads it at
//! once. The marker is written before an engine starts and removed when the start has succeeded or
//! failed. A page that finds it knows which engine crashed the previous page.

use crate::messages::protocol::Backend;
use crate::save::{store, stored};

/// Key of the marker. The widget reads and writes the same key.
const MARKER: &str = "espalier-loading";

/// Key of the note that an engine has started on this device and none has crashed since.
const STARTED: &str = "espalier-started";

/// Sets the marker: an engine is about to start.
pub fn set_marker(backend: Backend) {
    store(MARKER, Some(backend.as_str()));
}

/// Removes the marker.
pub fn clear_marker() {
    store(MARKER, None);
}

/// Returns the engine whose start crashed an earlier page, if any, and removes the marker.
pub fn take_crashed() -> Option<Backend> {
    let name = stored(MARKER)?;
    clear_marker();
    store(STARTED, None);
    Backend::named(&name)
}

/// Notes that an engine has started on this device.
pub fn note_started() {
    store(STARTED, Some("yes"));
}

/// Returns whether an engine has started on this device and none has crashed since.
pub fn has_started() -> bool {
    stored(STARTED).is_some()
}
