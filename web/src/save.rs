//! Saves and opens files, copies text to the clipboard, and stores small values in the browser.

use std::time::Duration;

use js_sys::{Array, Reflect};
use leptos::prelude::{document, set_timeout, window};
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, HtmlInputElement, Storage, Url};

/// How long the object URL of a saved file stays valid.
const URL_LIFETIME: Duration = Duration::from_secs(30);

/// Lets the visitor save a blob under a name.
pub fn save(blob: &Blob, name: &str) {
    let Ok(url) = Url::create_object_url_with_blob(blob) else {
        return;
    };
    let anchor = document()
        .create_element("a")
        .ok()
        .and_then(|a| a.dyn_into::<HtmlAnchorElement>().ok());
    if let Some(anchor) = anchor {
        anchor.set_href(&url);
        anchor.set_download(name);
        anchor.click();
    }
    // Some browsers start to read it only after this task.
    set_timeout(
        move || {
            let _ = Url::revoke_object_url(&url);
        },
        URL_LIFETIME,
    );
}

/// Lets the visitor save a text under a name.
pub fn save_text(text: &str, name: &str, kind: &str) {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let parts = Array::of1(&text.into());
    if let Ok(blob) = Blob::new_with_str_sequence_and_options(&parts, &options) {
        save(&blob, name);
    }
}

/// Returns the text of the file that was chosen in an input, and allows the same file to be chosen
/// again; `None` without a file, or if it cannot be read.
pub async fn chosen_text(input: HtmlInputElement) -> Option<String> {
    let file = input.files()?.get(0)?;
    input.set_value("");
    JsFuture::from(file.text()).await.ok()?.as_string()
}

/// Copies a text to the clipboard; returns false if that is not allowed.
pub async fn copy(text: &str) -> bool {
    let navigator = window().navigator();
    // Missing on insecure addresses, where the bindings would throw.
    let available =
        Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|board| board.is_truthy());
    available
        && JsFuture::from(navigator.clipboard().write_text(text))
            .await
            .is_ok()
}

fn storage() -> Option<Storage> {
    window().local_storage().ok().flatten()
}

/// Returns the text stored under a key in this browser.
pub fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// Prefix of all keys under which the page stores texts.
const KEY_PREFIX: &str = "espalier-";

/// Removes every text that the page has stored in this browser.
pub fn forget_all() {
    let Some(storage) = storage() else { return };
    let count = storage.length().unwrap_or(0);
    let keys: Vec<String> = (0..count)
        .filter_map(|i| storage.key(i).ok().flatten())
        .collect();
    for key in keys.iter().filter(|key| key.starts_with(KEY_PREFIX)) {
        let _ = storage.remove_item(key);
    }
}

/// Stores a text under a key in this browser, or removes it. Ignores failures (no space or no
/// permission).
pub fn store(key: &str, text: Option<&str>) {
    if let Some(storage) = storage() {
        let _ = match text {
            Some(text) => storage.set_item(key, text),
            None => storage.remove_item(key),
        };
    }
}
