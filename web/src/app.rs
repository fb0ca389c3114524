//! The page: its one shell, its two columns, and the way into the HTML around them.

use leptos::mount::mount_to;
use leptos::portal::Portal;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlElement;

use crate::components::{Outcome, PhotoDrop, Status, StoragePanel};
use crate::shell::Shell;

/// Draws the page into the element `app` of the HTML shell.
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        // A fault of the page itself. The HTML has the words ready.
        leptos::logging::error!("{panic}");
        show_crash();
    }));
    let place = document()
        .get_element_by_id("app")
        .and_then(|at| at.dyn_into::<HtmlElement>().ok());
    let Some(place) = place else { return };
    let base = folder(&document().base_uri().ok().flatten().unwrap_or_default());
    let query = window().location().search().unwrap_or_default();
    // What stood there until now has the same size, so nothing moves.
    place.set_inner_html("");
    mount_to(place, move || view! { <App base query /> }).forget();
}

fn show_crash() {
    if let Some(note) = document().get_element_by_id("crash") {
        let _ = note.remove_attribute("hidden");
    }
}

/// The folder of an address, with its last slash.
fn folder(address: &str) -> String {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.rfind('/')
        .map_or(path, |slash| &path[..=slash])
        .to_owned()
}

/// The page's moving part.
#[component]
fn App(
    /// Address of the page's folder.
    base: String,
    /// Query part of the page's address.
    query: String,
) -> impl IntoView {
    let shell = Shell::new(base, &query);
    provide_context(shell);
    // The HTML around makes room for the answer once there is something to answer.
    Effect::new(move |_| {
        let Some(body) = document().body() else {
            return;
        };
        let _ = if shell.session.with(|session| session.work.is_some()) {
            body.set_attribute("data-given", "")
        } else {
            body.remove_attribute("data-given")
        };
    });
    let foot = document().get_element_by_id("kept");
    view! {
        <PhotoDrop />
        <Outcome />
        <Status />
        {foot.map(|mount| view! { <Portal mount><StoragePanel shell /></Portal> })}
    }
}
