//! The photo and the ways to supply one: drop it anywhere, choose, take or paste it, enter its
//! address, or supply several.

use std::rc::Rc;

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Element, EventTarget, HtmlElement, HtmlInputElement};

use super::folder::Folder;
use super::heat::{HeatButton, HeatPanel};
use super::live::{Live, LiveButton, LiveView};
use super::load_panel::LoadPanel;
use super::region::{PartButton, PhotoView, SelectedPart};
use super::samples;
use crate::controller::AppController;
use crate::photo::{Photo, PhotoInput, fetch_linked, image_files, input_of};
use crate::ui_error::UiError;

/// Formats that core reads. Listed one by one, because phones then convert their photos to one of
/// them.
const FORMATS: &str = "image/jpeg,image/png,image/webp,image/gif,image/bmp";

/// Handles a visitor's input or its error: shows a single photo, lists several in a table.
fn handle(folder: Folder, input: Result<PhotoInput, UiError>) {
    let controller = folder.controller();
    match input {
        Ok(PhotoInput::Files(files)) if files.len() > 1 => folder.begin(files),
        Ok(PhotoInput::Files(files)) => {
            if let Some(file) = files.into_iter().next() {
                controller.set_photo(Ok((file, None)));
            }
        }
        Ok(PhotoInput::Link(address)) => spawn_local(async move {
            controller.set_photo(fetch_linked(&address).await.map(|file| (file, None)));
        }),
        Err(error) => controller.set_photo(Err(error)),
    }
}

/// The column of the photo.
#[component]
pub fn PhotoDrop() -> impl IntoView {
    let folder = expect_context::<Folder>();
    let controller = folder.controller();
    let over = RwSignal::new(false);
    let selected_part = expect_context::<SelectedPart>();
    let live = expect_context::<Live>();
    // By its shutter or otherwise.
    controller.on_new_photo(move || live.stop());
    listen(folder, over);
    samples::listen(controller);
    let has_photo = move || controller.photo.with(Option::is_some);
    view! {
        <section class="frame-column" aria-label="Photo">
            <div class="frame" class:is-over=over class:is-given=has_photo data-testid="drop-zone">
                // The live view must not be drawn anew when a photo is given.
                <Show when=move || live.is_on.get()>
                    <LiveView />
                </Show>
                {move || match shown_photo(controller, live) {
                    Some(photo) => {
                        let sample = photo.sample.as_deref().and_then(samples::alt_of);
                        let name = photo.file.name();
                        let alt = sample.unwrap_or_else(|| format!("Your photo, {name}"));
                        view! { <PhotoView url=photo.url.clone() alt /> }.into_any()
                    }
                    None if live.is_on.get() => ().into_any(),
                    None => view! { <Invitation /> }.into_any(),
                }}
                <div class="frame-actions">
                    <label class="button" class:is-main=move || !has_photo()>
                        <input
                            class="visually-hidden"
                            type="file"
                            accept=FORMATS
                            multiple
                            data-testid="file-input"
                            on:change:target=move |event| on_files_chosen(folder, &event.target())
                        />
                        <span>
                            {move || if has_photo() { "Another photo" } else { "Choose a photo" }}
                        </span>
                    </label>
                    <label class="button only-touch">
                        <input
                            class="visually-hidden"
                            type="file"
                            accept="image/*"
                            capture="environment"
                            data-testid="camera-input"
                            on:change:target=move |event| on_files_chosen(folder, &event.target())
                        />
                        <span>"Take one"</span>
                    </label>
                    <PartButton />
                    <HeatButton on_open=move |()| selected_part.clear() />
                    <LiveButton />
                    <MoreInputs folder />
                </div>
                <p class="frame-over" aria-hidden="true">"Drop it here"</p>
            </div>
            <HeatPanel />
            <LoadPanel />
        </section>
    }
}

/// Returns the photo to show; `None` while the camera is shown instead.
fn shown_photo(controller: AppController, live: Live) -> Option<Rc<Photo>> {
    let photo = controller.photo.get();
    photo.filter(|_| !live.is_on.get())
}

/// Less common inputs: an address, a whole folder.
#[component]
fn MoreInputs(folder: Folder) -> impl IntoView {
    let address = RwSignal::new(String::new());
    let open = RwSignal::new(false);
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let link = address.get_untracked().trim().to_owned();
        if !link.is_empty() {
            open.set(false);
            handle(folder, Ok(PhotoInput::Link(link)));
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
            "More ways to add a photo"
        </button>
        <div class="more-ways" id="more-ways" hidden=move || !open.get()>
            <form class="field-row" on:submit=submit>
                <label class="field">
                    <span class="field-name">"Address of an image"</span>
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
                "The image is fetched from its own site and sent nowhere else. "
                "Several photos at once become a table, and so does a folder:"
            </p>
            <label class="button is-quiet">
                <input
                    class="visually-hidden"
                    type="file"
                    prop:webkitdirectory=true
                    data-testid="folder-input"
                    on:change:target=move |event| on_files_chosen(folder, &event.target())
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

fn on_files_chosen(folder: Folder, input: &HtmlInputElement) {
    // Without a file, the dialogue was closed without a choice.
    let files = image_files(input.files());
    if !files.is_empty() {
        handle(folder, Ok(PhotoInput::Files(files)));
    }
    // Allows the same file to be chosen again.
    input.set_value("");
}

/// Returns whether the target of an event accepts text input.
fn accepts_text(target: Option<EventTarget>) -> bool {
    let element = target.and_then(|target| target.dyn_into::<HtmlElement>().ok());
    element.is_some_and(|element| {
        matches!(element.tag_name().as_str(), "INPUT" | "TEXTAREA") || element.is_content_editable()
    })
}

/// Listens for drop and paste on the whole page, not only on the frame.
fn listen(folder: Folder, over: RwSignal<bool>) {
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
        handle(folder, input_of(event.data_transfer(), "dropped"));
    });
    let pasted = window_event_listener(ev::paste, move |event| {
        if accepts_text(event.target()) {
            return;
        }
        let input = input_of(event.clipboard_data(), "pasted");
        let has_photo = folder.controller().photo.with_untracked(Option::is_some);
        // An accidental paste must not discard an answer.
        if input.is_ok() || !has_photo {
            handle(folder, input);
        }
    });
    on_cleanup(move || {
        [dragged, left, dropped, pasted]
            .into_iter()
            .for_each(WindowListenerHandle::remove);
    });
}
