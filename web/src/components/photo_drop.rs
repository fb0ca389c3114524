//! The photo and the ways to supply one: drop it anywhere, choose, take or paste it, enter its
//! address, or supply several.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, Event as DomEvent, EventTarget, HtmlElement, HtmlInputElement};

use super::folder::Folder;
use super::load_panel::LoadPanel;
use super::region::{Part, Shown};
use super::samples;
use crate::controller::use_controller;
use crate::photo::{Given, carried, linked, pictures};
use crate::ui_error::UiError;

/// Formats that core reads. Listed one by one, because phones then convert their photos to one of
/// them.
const FORMATS: &str = "image/jpeg,image/png,image/webp,image/gif,image/bmp";

/// Handles a visitor's input: shows a single photo, lists several in a table.
#[derive(Clone, Copy)]
pub struct Taking {
    folder: Folder,
}

impl Taking {
    /// Handles the input or its error.
    pub fn take(self, given: Result<Given, UiError>) {
        let controller = self.folder.controller();
        match given {
            Ok(Given::Files(files)) if files.len() > 1 => self.folder.begin(files),
            Ok(Given::Files(files)) => {
                if let Some(file) = files.into_iter().next() {
                    controller.give(Ok((file, None)));
                }
            }
            Ok(Given::Link(address)) => spawn_local(async move {
                controller.give(linked(&address).await.map(|file| (file, None)));
            }),
            Err(error) => controller.give(Err(error)),
        }
    }
}

/// The column of the photo.
#[component]
pub fn PhotoDrop() -> impl IntoView {
    let controller = use_controller();
    let taking = Taking {
        folder: expect_context::<Folder>(),
    };
    let over = RwSignal::new(false);
    listen(taking, over);
    samples::listen(controller);
    let given = move || controller.photo.with(Option::is_some);
    view! {
        <section class="frame-column" aria-label="Photo">
            <div class="frame" class:is-over=over class:is-given=given data-testid="drop-zone">
                {move || match controller.photo.get() {
                    Some(photo) => {
                        let sample = photo.sample.as_deref().and_then(samples::alt_of);
                        let alt = sample.unwrap_or_else(|| format!("Your photo, {}", photo.name()));
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
                            multiple
                            data-testid="file-input"
                            on:change=move |event| chosen(taking, &event)
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
                            on:change=move |event| chosen(taking, &event)
                        />
                        <span>"Take one"</span>
                    </label>
                    <Part />
                    <More taking />
                </div>
                <p class="frame-over" aria-hidden="true">"Let go to read it"</p>
            </div>
            <LoadPanel />
        </section>
    }
}

/// Less common inputs: an address, a whole folder.
#[component]
fn More(
    /// The handler of photos.
    taking: Taking,
) -> impl IntoView {
    let address = RwSignal::new(String::new());
    let open = RwSignal::new(false);
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let link = address.get_untracked().trim().to_owned();
        if !link.is_empty() {
            open.set(false);
            taking.take(Ok(Given::Link(link)));
        }
    };
    view! {
        <button
            class="button is-quiet"
            type="button"
            aria-expanded=move || open.get().to_string()
            aria-controls="more-ways"
            data-testid="more-ways"
            on:click=move |_| open.update(|open| *open = !*open)
        >
            "Other ways"
        </button>
        <div class="more-ways" id="more-ways" hidden=move || !open.get()>
            <form class="field-row" on:submit=submit>
                <label class="field">
                    <span class="field-name">"Address of a picture"</span>
                    <input
                        class="input"
                        type="url"
                        inputmode="url"
                        placeholder="https://…"
                        data-testid="link-input"
                        prop:value=address
                        on:input:target=move |event| address.set(event.target().value())
                    />
                </label>
                <button class="button" type="submit" data-testid="link-read">"Read it"</button>
            </form>
            <p class="note">
                "The picture is fetched from its own site; nothing of it is sent on. "
                "Several photos at once become a table, and so does a folder:"
            </p>
            <label class="button is-quiet">
                <input
                    class="visually-hidden"
                    type="file"
                    prop:webkitdirectory=true
                    data-testid="folder-input"
                    on:change=move |event| chosen(taking, &event)
                />
                <span>"A folder of photos"</span>
            </label>
        </div>
    }
}

/// Content of the frame before there is a photo.
#[component]
fn Invitation() -> impl IntoView {
    view! {
        <div class="drop">
            <p class="drop-title">"Drop a photo here"</p>
            <p class="drop-note">"or paste one, or choose one. It stays on this device."</p>
        </div>
    }
}

fn chosen(taking: Taking, event: &DomEvent) {
    let input = event
        .target()
        .and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    let Some(input) = input else { return };
    // Without a file, the dialogue was closed without a choice.
    let files = pictures(input.files());
    if !files.is_empty() {
        taking.take(Ok(Given::Files(files)));
    }
    // Allows the same file to be chosen again.
    input.set_value("");
}

/// Returns whether the target of an event accepts text input.
fn in_a_field(target: Option<EventTarget>) -> bool {
    let element = target.and_then(|target| target.dyn_into::<HtmlElement>().ok());
    element.is_some_and(|element| {
        matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA") || element.is_content_editable()
    })
}

/// Listens for drop and paste on the whole page, not only on the frame.
fn listen(taking: Taking, over: RwSignal<bool>) {
    let dragged = window_event_listener(ev::dragover, move |event| {
        // Otherwise the browser would leave the page and open the file.
        event.prevent_default();
        over.set(true);
    });
    let left = window_event_listener(ev::dragleave, move |event| {
        // The pointer leaves the window, not just one element for another.
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
        taking.take(carried(event.data_transfer(), "dropped"));
    });
    let pasted = window_event_listener(ev::paste, move |event| {
        if in_a_field(event.target()) {
            return;
        }
        let controller = taking.folder.controller();
        match carried(event.clipboard_data(), "pasted") {
            Ok(given) => taking.take(Ok(given)),
            // An accidental paste must not discard an answer.
            Err(error) if controller.photo.with_untracked(Option::is_none) => {
                taking.take(Err(error));
            }
            Err(_) => {}
        }
    });
    on_cleanup(move || {
        [dragged, left, dropped, pasted]
            .into_iter()
            .for_each(WindowListenerHandle::remove);
    });
}
