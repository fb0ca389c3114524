//! The photo in its frame, and the box that selects a part of it.

use std::rc::Rc;
use std::time::Duration;

use leptos::html::Div;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlImageElement, KeyboardEvent, PointerEvent};

use super::heat::{Heat, HeatOverlay};
use crate::controller::AppController;
use crate::messages::query::PhotoId;
use crate::state::region::Region;
use crate::state::session::{Answer, Work};
use crate::ui_error::UiError;
use crate::workspace::use_workspace;

/// Delay after the last change of the box before it is read.
const READ_DELAY: Duration = Duration::from_millis(260);

/// The selected part of the photo.
#[derive(Clone, Copy, Default)]
pub struct SelectedPart {
    /// The box; `None` if the whole photo is selected.
    pub region: RwSignal<Option<Region>>,
    /// The answer for the part.
    pub answer: RwSignal<Option<Result<Rc<Answer>, UiError>>, LocalStorage>,
    /// Number of the latest query; answers to older ones are discarded.
    latest: RwSignal<Option<PhotoId>>,
}

impl SelectedPart {
    /// Selects the whole photo.
    pub fn clear(self) {
        self.region.set(None);
        self.answer.set(None);
        self.latest.set(None);
    }
}

/// The button that starts and ends the selection of a part.
#[component]
pub fn PartButton() -> impl IntoView {
    let workspace = use_workspace();
    let selected_part = expect_context::<SelectedPart>();
    let heat = expect_context::<Heat>();
    follow_selection(workspace.controller, selected_part);
    let is_on = move || selected_part.region.with(Option::is_some);
    view! {
        <Show when=move || workspace.answer().is_some()>
            <button
                class="button is-quiet"
                type="button"
                aria-pressed=move || is_on().to_string()
                data-testid="part-button"
                on:click=move |_| {
                    if is_on() {
                        selected_part.clear();
                    } else {
                        heat.close();
                        selected_part.region.set(Some(Region::default()));
                    }
                }
            >
                {move || if is_on() { "The whole photo" } else { "Select an area" }}
            </button>
        </Show>
    }
}

/// Reads the part once the box is stable, and clears it when the photo changes.
fn follow_selection(controller: AppController, selected_part: SelectedPart) {
    controller.on_new_photo(move || selected_part.clear());
    Effect::new(move |_| {
        if let Some(region) = selected_part.region.get() {
            set_timeout(move || read(controller, selected_part, region), READ_DELAY);
        }
    });
}

/// Reads the part, unless the box has changed since.
fn read(controller: AppController, selected_part: SelectedPart, region: Region) {
    let is_stable = selected_part.region.get_untracked() == Some(region);
    let Some(photo) = controller.photo.get_untracked().filter(|_| is_stable) else {
        return;
    };
    let id = controller.next_id();
    selected_part.latest.set(Some(id));
    spawn_local(async move {
        let region = Some(region.corners());
        let answer = controller.read(id, &photo.file, region).await;
        if selected_part.latest.get_untracked() == Some(id) {
            let answer = answer.map(|(answer, _)| Rc::new(answer));
            selected_part.answer.set(Some(answer));
        }
    });
}

/// The photo. The browser rotates it upright, as the engine does.
#[component]
pub fn PhotoView(
    /// Object URL of the file.
    url: String,
    /// Alternative text.
    alt: String,
) -> impl IntoView {
    let session = use_workspace().controller.session;
    let selected_part = expect_context::<SelectedPart>();
    let broken = RwSignal::new(false);
    let ratio = RwSignal::new(1.0_f64);
    let measured = move |event: web_sys::Event| {
        let image = event
            .target()
            .and_then(|t| t.dyn_into::<HtmlImageElement>().ok());
        if let Some(image) = image {
            let (width, height) = (image.natural_width(), image.natural_height());
            ratio.set(f64::from(width.max(1)) / f64::from(height.max(1)));
        }
    };
    let reading = move || session.with(|session| matches!(session.work, Work::Running(_)));
    view! {
        <figure class="photo" class:is-reading=reading>
            <Show
                when=move || !broken.get()
                fallback=|| {
                    view! { <p class="photo-broken">"Your browser can't show this file."</p> }
                }
            >
                <div class="photo-sheet" style=("--ratio", move || format!("{:.5}", ratio.get()))>
                    <img
                        src=url.clone()
                        alt=alt.clone()
                        draggable="false"
                        on:load=measured
                        on:error=move |_| broken.set(true)
                    />
                    <HeatOverlay />
                    <Show when=move || selected_part.region.with(Option::is_some)>
                        <PartBox selected_part />
                    </Show>
                </div>
            </Show>
        </figure>
    }
}

/// The box, and the layer that it is drawn on.
#[component]
fn PartBox(selected_part: SelectedPart) -> impl IntoView {
    let handle = NodeRef::<Div>::new();
    let layer = BoxLayer {
        selected_part,
        element: NodeRef::new(),
        drag: RwSignal::new(None),
    };
    Effect::new(move |_| {
        if let Some(handle) = handle.get() {
            let _ = handle.focus();
        }
    });
    let region = move || selected_part.region.get().unwrap_or_default();
    let share = |v: f64| format!("{:.2}%", v * 100.0);
    view! {
        <div
            class="part-sheet"
            node_ref=layer.element
            on:pointerdown=move |event| layer.begin_drag(&event)
            on:pointermove=move |event| layer.follow_drag(&event)
            on:pointerup=move |_| layer.drag.set(None)
            on:pointercancel=move |_| layer.drag.set(None)
        >
            <div
                class="part-box"
                node_ref=handle
                tabindex="0"
                role="group"
                aria-roledescription="area of the photo"
                aria-label=move || {
                    format!(
                        "{}. Arrow keys move it, with shift they resize it, Escape ends it.",
                        region().in_words(),
                    )
                }
                data-testid="part-box"
                on:keydown=move |event| press_key(selected_part, &event)
                style:left=move || share(region().x1)
                style:top=move || share(region().y1)
                style:width=move || share(region().x2 - region().x1)
                style:height=move || share(region().y2 - region().y1)
            ></div>
        </div>
    }
}

/// Moves or resizes the box; Escape ends the selection.
fn press_key(selected_part: SelectedPart, event: &KeyboardEvent) {
    let Some(region) = selected_part.region.get_untracked() else {
        return;
    };
    if event.key() == "Escape" {
        selected_part.clear();
    } else if let Some(next) = region.key(&event.key(), event.shift_key()) {
        event.prevent_default();
        selected_part.region.set(Some(next));
    }
}

/// A point on the photo, in fractions of its width and height.
type Point = (f64, f64);

/// The layer over the photo, on which the pointer draws and moves the box; cheap to copy.
#[derive(Clone, Copy)]
struct BoxLayer {
    selected_part: SelectedPart,
    element: NodeRef<Div>,
    /// Start of a drag, and the box that it moves if it started inside one.
    drag: RwSignal<Option<(Point, Option<Region>)>>,
}

impl BoxLayer {
    /// Returns the position of the pointer on the photo.
    fn point_of(self, event: &PointerEvent) -> Option<Point> {
        let area = self.element.get_untracked()?.get_bounding_client_rect();
        let x = (f64::from(event.client_x()) - area.left()) / area.width().max(1.0);
        let y = (f64::from(event.client_y()) - area.top()) / area.height().max(1.0);
        Some((x, y))
    }

    fn begin_drag(self, event: &PointerEvent) {
        event.prevent_default();
        let Some(point) = self.point_of(event) else {
            return;
        };
        if let Some(element) = self.element.get_untracked() {
            let _ = element.set_pointer_capture(event.pointer_id());
        }
        let inside = self
            .selected_part
            .region
            .get_untracked()
            .filter(|r| (r.x1..r.x2).contains(&point.0) && (r.y1..r.y2).contains(&point.1));
        self.drag.set(Some((point, inside)));
    }

    /// Moves the box during a drag that started inside it, else draws a new one.
    fn follow_drag(self, event: &PointerEvent) {
        let (Some((from, inside)), Some(to)) = (self.drag.get_untracked(), self.point_of(event))
        else {
            return;
        };
        self.selected_part.region.set(Some(match inside {
            Some(region) => region.moved(to.0 - from.0, to.1 - from.1),
            None => Region::between(from, to),
        }));
    }
}
