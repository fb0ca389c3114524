//! The sample photos. The HTML contains them as links that work before any code has loaded; this
//! module reads them without leaving the page.

use js_sys::{Array, Uint8Array};
use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, BlobPropertyBag, Element, File};

use crate::controller::AppController;
use crate::load::fetch::fetch_small;
use crate::photo::file_of;
use crate::state::link::is_name;
use crate::ui_error::UiError;

/// Reads a sample when it is clicked.
pub fn listen(controller: AppController) {
    let pressed = window_event_listener(ev::click, move |event| {
        let target = event.target().and_then(|t| t.dyn_into::<Element>().ok());
        let link = target.and_then(|t| t.closest("[data-sample]").ok().flatten());
        let name = link.and_then(|link| link.get_attribute("data-sample"));
        // A click with a modifier key opens a new tab as usual.
        let is_plain_click = !(event.ctrl_key() || event.meta_key() || event.shift_key());
        if let Some(name) = name.filter(|name| is_plain_click && is_name(name)) {
            event.prevent_default();
            read(controller, name);
        }
    });
    on_cleanup(move || pressed.remove());
}

/// Returns the alternative text of a sample from the HTML.
pub fn alt_of(name: &str) -> Option<String> {
    let image = document().query_selector(&format!("[data-sample=\"{name}\"] img"));
    let words = image.ok().flatten()?.get_attribute("alt")?;
    (!words.is_empty()).then_some(words)
}

/// Fetches a sample from the page's server and uses it as the photo.
pub fn read(controller: AppController, name: String) {
    spawn_local(async move {
        let file = fetch(&controller.base(), &name).await;
        controller.set_photo(file.map(|file| (file, Some(name))));
    });
}

async fn fetch(base: &str, name: &str) -> Result<File, UiError> {
    let file = format!("{name}.jpg");
    let bytes = fetch_small(&format!("{base}samples/{file}"), &file).await?;
    let options = BlobPropertyBag::new();
    options.set_type("image/jpeg");
    let parts = Array::of1(&Uint8Array::from(bytes.as_slice()));
    let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options);
    let blob = blob.map_err(|_| UiError::network(&file, "the browser could not create a file"))?;
    file_of(&blob, &file)
}
