//! A marker in local storage that survives a crash of the tab.
//!
//! If a model is too large for a device, the browser kills the whole page and often reloads it at
//! once. The marker is written before an engine starts and removed when the start has succeeded or
//! failed. A page that finds it knows which engine crashed the previous page.

use web_sys::Storage;

use crate::messages::protocol::Backend;

/// Key of the marker. The widget reads and writes the same key.
const KEY: &str = "espalier-loading";

fn storage() -> Option<Storage> {
    // Absent if the visitor has disabled it.
    web_sys::window()?.local_storage().ok()?
}

/// Sets the marker: an engine is about to start.
pub fn set_marker(backend: Backend) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(KEY, backend.as_str());
    }
}

/// Removes the marker.
pub fn clear_marker() {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(KEY);
    }
}

/// Returns the engine whose start crashed an earlier page, if any, and removes the marker.
#[must_use]
pub fn take_crashed() -> Option<Backend> {
    let name = storage()?.get_item(KEY).ok()??;
    clear_marker();
    [Backend::WebGpu, Backend::Cpu]
        .into_iter()
        .find(|backend| backend.as_str() == name)
}
