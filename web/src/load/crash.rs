//! A note that outlives a crash of the tab.
//!
//! Where a model is too large for a device the browser ends the whole page, often to open it again
//! at once. The note is written before an engine starts and taken away when it has started or given
//! up, so that a page that finds it knows what ended its predecessor.

use web_sys::Storage;

use crate::messages::protocol::Backend;

/// Key of the note. The widget reads and writes the same one.
const KEY: &str = "espalier-loading";

fn storage() -> Option<Storage> {
    // Not given where the visitor has forbidden it.
    web_sys::window()?.local_storage().ok()?
}

/// Notes that an engine is about to start.
pub fn begin(backend: Backend) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(KEY, backend.as_str());
    }
}

/// Takes the note away.
pub fn over() {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(KEY);
    }
}

/// The engine whose start ended an earlier page, if one did; told once.
#[must_use]
pub fn last() -> Option<Backend> {
    let said = storage()?.get_item(KEY).ok()??;
    over();
    [Backend::WebGpu, Backend::Cpu]
        .into_iter()
        .find(|backend| backend.as_str() == said)
}
