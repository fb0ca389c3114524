//! The photo and the ways to give one: drop it anywhere, choose it, take it, paste it.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, Event as DomEvent, HtmlInputElement};

use super::load_panel::LoadPanel;
use crate::photo::{carried, first_of};
use crate::shell::{Shell, use_shell};

/// Formats that core reads. Named one by one, phones hand their photos over in one of them.
const FORMATS: &str = "image/jpeg,image/png,image/webp,image/gif,image/bmp";

/// The column of the photo.
#[component]
pub fn PhotoDrop() -> impl IntoView {
    let shell = use_shell();
    let over = RwSignal::new(false);
    listen(shell, over);
    let given = move || shell.photo.with(Option::is_some);
    view! {
        <section class="frame-column" aria-label="Photo">
            <div class="frame" class:is-over=over class:is-given=given data-testid="drop-zone">
                {move || match shell.photo.get() {
                    Some(photo) => {
                        let alt = format!("Your photo, {}", photo.name());
                        view! { <Shown url=photo.url().to_owned() alt /> }.into_any()
                    }
                    None => view! { <Invitation /> }.into_any(),
                }}
                <div class="frame-actions">
                    <label class="button" class:is-main=move || !given()>
                        <input
                            class="visually-hidden"
                            type="file"
                            accept=FORMATS
                            data-testid="file-input"
                            on:change=move |event| chosen(shell, &event)
                        />
                        <span>
                            {move || if given() { "Another photo" } else { "Choose a photo" }}
                        </span>
                    </label>
                    <label class="button only-touch">
                        <input
                            class="visually-hidden"
                            type="file"
                            accept="image/*"
                            capture="environment"
                            data-testid="camera-input"
                            on:change=move |event| chosen(shell, &event)
                        />
                        <span>"Take one"</span>
                    </label>
                </div>
                <p class="frame-over" aria-hidden="true">"Let go to read it"</p>
            </div>
            <LoadPanel />
        </section>
    }
}

/// What stands in the frame before there is a photo.
#[component]
fn Invitation() -> impl IntoView {
    view! {
        <div class="drop">
            <p class="drop-title">"Drop a photo here"</p>
            <p class="drop-note">"or paste one, or choose one. It stays on this device."</p>
        </div>
    }
}

/// The photo. The browser turns it upright, as the engine does.
#[component]
fn Shown(
    /// Address of the file inside this page.
    url: String,
    /// What it is, for those who do not see it.
    alt: String,
) -> impl IntoView {
    let broken = RwSignal::new(false);
    view! {
        <figure class="photo">
            <Show
                when=move || !broken.get()
                fallback=|| {
                    view! {
                        <p class="photo-broken">"Your browser cannot show this file."</p>
                    }
                }
            >
                <img src=url.clone() alt=alt.clone() on:error=move |_| broken.set(true) />
            </Show>
        </figure>
    }
}

fn chosen(shell: Shell, event: &DomEvent) {
    let input = event
        .target()
        .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    let Some(input) = input else { return };
    // No file: the dialogue was closed without a choice.
    if let Some(picked) = first_of(input.files()) {
        shell.give(Ok(picked));
    }
    // So that the same file may be chosen again.
    input.set_value("");
}

/// Drop and paste work on the whole page, not only where the frame is.
fn listen(shell: Shell, over: RwSignal<bool>) {
    let dragged = window_event_listener(ev::dragover, move |event| {
        // Without this the browser would leave the page and open the file.
        event.prevent_default();
        over.set(true);
    });
    let left = window_event_listener(ev::dragleave, move |event| {
        // Leaving the window, not one element for the next.
        if event
            .related_target()
            .and_then(|to| to.dyn_into::<Element>().ok())
            .is_none()
        {
            over.set(false);
        }
    });
    let dropped = window_event_listener(ev::drop, move |event| {
        event.prevent_default();
        over.set(false);
        shell.give(carried(event.data_transfer(), "dropped"));
    });
    let pasted = window_event_listener(ev::paste, move |event| {
        match carried(event.clipboard_data(), "pasted") {
            Ok(picked) => shell.give(Ok(picked)),
            // A stray paste must not wipe an answer away.
            Err(error) if shell.photo.with_untracked(Option::is_none) => shell.give(Err(error)),
            Err(_) => {}
        }
    });
    on_cleanup(move || {
        [dragged, left, dropped, pasted]
            .into_iter()
            .for_each(WindowListenerHandle::remove);
    });
}
