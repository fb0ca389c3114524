//! The live camera: the answer follows the view, and a shutter keeps a frame as a photo.

use std::rc::Rc;

use espalier_core::caption::CaptionResult;
use gloo_timers::future::TimeoutFuture;
use leptos::html::Video;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::error_card::ErrorNote;
use super::ladder::Ladder;
use crate::camera::{Camera, LIVE_SIDE, frame, is_offered};
use crate::state::session::{Answer, Engine, Event};
use crate::state::steady::Steady;
use crate::ui_error::UiError;
use crate::words::{also_sentence, answer_guess, answer_sentence};
use crate::workspace::{Workspace, use_workspace};

/// Pause between two frames in milliseconds, in which the page draws.
const PAUSE_MS: u32 = 30;

/// Pause while the engine or the camera is not ready yet.
const WAIT_MS: u32 = 150;

/// Number of frames after which guesses and certainty are refreshed although the stop is the same.
const REFRESH: u32 = 16;

/// Longest side of a frame that the shutter keeps.
const KEPT_SIDE: f64 = 4096.0;

/// Whether the camera runs, and what it shows; cheap to copy.
#[derive(Clone, Copy, Default)]
pub struct Live {
    /// Whether the visitor has switched it on.
    pub is_on: RwSignal<bool>,
    camera: RwSignal<Option<Rc<Camera>>, LocalStorage>,
    result: RwSignal<Option<CaptionResult>>,
    error: RwSignal<Option<UiError>>,
    /// Number of frames read so far.
    count: RwSignal<u32>,
}

impl Live {
    fn start(self, workspace: Workspace) {
        self.error.set(None);
        self.result.set(None);
        self.count.set(0);
        self.is_on.set(true);
        workspace.controller.dispatch(Event::LoadRequested);
        // The sentence leaves out steps that say nothing, which it knows from the tree.
        workspace.load_tree();
        spawn_local(async move {
            match Camera::open().await {
                Ok(camera) if self.is_on.get_untracked() => self.camera.set(Some(Rc::new(camera))),
                Ok(_) => {}
                Err(error) => {
                    self.error.set(Some(error));
                    self.stop();
                }
            }
        });
    }

    /// Stops the camera.
    pub fn stop(self) {
        self.is_on.set(false);
        self.camera.set(None);
    }
}

/// The button that starts the camera, and the reason if that failed.
#[component]
pub fn LiveButton() -> impl IntoView {
    let (workspace, live) = (use_workspace(), expect_context::<Live>());
    view! {
        <Show when=move || is_offered() && !live.is_on.get()>
            <button
                class="button is-quiet"
                type="button"
                data-testid="live-start"
                on:click=move |_| live.start(workspace)
            >
                "Live camera"
            </button>
        </Show>
        <ErrorNote error=live.error />
    }
}

/// The camera's frame with its answer and the buttons.
#[component]
pub fn LiveView() -> impl IntoView {
    let (workspace, live) = (use_workspace(), expect_context::<Live>());
    let video = NodeRef::<Video>::new();
    Effect::new(move |_| {
        if let (Some(camera), Some(video)) = (live.camera.get(), video.get()) {
            camera.show_in(&video);
            spawn_local(follow(workspace, live, video));
        }
    });
    // Without an engine there is nothing to wait for.
    Effect::new(move |_| {
        let session = workspace.controller.session;
        let failed = session.with(|session| match &session.engine {
            Engine::Failed(error) => Some(error.clone()),
            _ => None,
        });
        if let Some(error) = failed {
            live.error.set(Some(error));
            live.stop();
        }
    });
    on_cleanup(move || {
        live.camera.try_set(None);
    });
    let keep = move |_| {
        let Some(video) = video.get_untracked() else {
            return;
        };
        spawn_local(async move {
            // The photo ends the live view.
            if let Some(file) = frame(&video, KEPT_SIDE).await {
                workspace.controller.set_photo(Ok((file, None)));
            }
        });
    };
    let words = move || match live.result.get() {
        Some(result) => answer_sentence(&result, &workspace.dial(&result.taxonomy)),
        None if live.camera.with(Option::is_none) => "Starting the camera…".to_owned(),
        None if !workspace.controller.is_ready() => "Loading the model…".to_owned(),
        None => "Looking…".to_owned(),
    };
    let guess = move || {
        let result = live.result.get()?;
        let also = also_sentence(&result);
        also.or_else(|| answer_guess(&result, &workspace.dial(&result.taxonomy)))
    };
    view! {
        <div class="live" data-testid="live" data-count=move || live.count.get().to_string()>
            <video
                class="live-view"
                node_ref=video
                autoplay
                playsinline
                prop:muted=true
                aria-label="The view of your camera"
            ></video>
            <div class="live-words">
                <p class="part-sentence" role="status" data-testid="live-sentence">{words}</p>
                <p class="answer-guess">{guess}</p>
                {move || live.result.get().map(|result| view! { <Ladder result part=true /> })}
            </div>
            <div class="live-keys">
                <button
                    class="button is-main"
                    type="button"
                    data-testid="live-keep"
                    disabled=move || live.count.get() == 0
                    on:click=keep
                >
                    "Keep this photo"
                </button>
                <button class="button is-quiet" type="button" data-testid="live-stop" on:click=move |_| live.stop()>
                    "Stop the camera"
                </button>
            </div>
        </div>
    }
}

/// Reads frames one after the other for as long as this camera runs.
async fn follow(workspace: Workspace, live: Live, video: web_sys::HtmlVideoElement) {
    let controller = workspace.controller;
    // One number for all frames: the engine keeps only the last of them.
    let photo = controller.next_id();
    let mut steady = Steady::default();
    while live.is_on.try_get_untracked() == Some(true) {
        let file = match untrack(|| controller.is_ready()) {
            true => frame(&video, LIVE_SIDE).await,
            false => None,
        };
        let Some(file) = file else {
            TimeoutFuture::new(WAIT_MS).await;
            continue;
        };
        let read = controller.read(photo, &file, None).await;
        if live.is_on.try_get_untracked() != Some(true) {
            return;
        }
        match read {
            Ok((Answer { result, .. }, _)) => {
                live.count.update(|count| *count += 1);
                if steady.shows(answer_of(&result)) && replaces(live, &result) {
                    live.result.set(Some(result));
                }
            }
            Err(error) => {
                live.error.set(Some(error));
                live.stop();
                return;
            }
        }
        TimeoutFuture::new(PAUSE_MS).await;
    }
}

/// Returns what tells two answers apart: the text of the last rung that the evidence carries, or the node where the
/// path stops.
fn answer_of(result: &CaptionResult) -> &str {
    let last = result.said.and_then(|said| said.checked_sub(1));
    let told = last.and_then(|last| result.ladder.get(last));
    told.map_or(&result.taxonomy.stop, |rung| &rung.text)
}

/// Returns whether a result replaces the one that is shown: at once if its path stops elsewhere, and
/// now and then if only its guesses differ, so that the words stay readable.
fn replaces(live: Live, result: &CaptionResult) -> bool {
    let is_due = live.count.get_untracked().is_multiple_of(REFRESH);
    live.result.with_untracked(|shown| {
        let shown = shown.as_ref();
        is_due || shown.is_none_or(|shown| answer_of(shown) != answer_of(result))
    })
}
