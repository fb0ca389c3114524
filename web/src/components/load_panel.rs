//! The panel below the photo: the download size before a load, a progress bar during it, and the
//! engine after it.

use leptos::prelude::*;

use super::engine_line::EngineLine;
use crate::controller::AppController;
use crate::load::progress::{Bar, format_bytes, format_part};
use crate::messages::protocol::{Backend, Stage};
use crate::state::session::{Engine, Event, Session};
use crate::workspace::use_workspace;

/// The panel. Its height is the same in every state.
#[component]
pub fn LoadPanel() -> impl IntoView {
    let controller = use_workspace().controller;
    let engine = Memo::new(move |_| controller.session.with(|session| session.engine.clone()));
    view! {
        <div class="panel">
            {move || match engine.get() {
                Engine::Off | Engine::Failed(_) => view! { <LoadButton /> }.into_any(),
                Engine::Probing => {
                    let words = "Looking for the fastest engine…".to_owned();
                    progress_bar(controller, words, None).into_any()
                }
                Engine::Loading { backend, bar } => {
                    progress_bar(controller, stage_words(backend, &bar), Some(&bar)).into_any()
                }
                Engine::Ready(info) => view! { <EngineLine info /> }.into_any(),
            }}
        </div>
    }
}

/// The button, with the size on it.
#[component]
fn LoadButton() -> impl IntoView {
    let controller = use_workspace().controller;
    let size = Memo::new(move |_| controller.session.with(Session::likely_download));
    let label = move || match size.get() {
        None => "Load the model".to_owned(),
        Some(bytes) => format!("Load the model ({} at most)", format_bytes(bytes)),
    };
    view! {
        <button
            class="button is-quiet"
            type="button"
            data-testid="load-button"
            on:click=move |_| controller.dispatch(Event::LoadRequested)
        >
            {label}
        </button>
        <p class="panel-note">"Choosing a photo loads it, too. It is downloaded once and stored."</p>
    }
}

/// What is being done, and the bar once an engine is loading.
fn progress_bar(
    controller: AppController,
    words: String,
    bar: Option<&Bar>,
) -> impl IntoView + use<> {
    let bytes = bar.and_then(|bar| Some(format_part(bar.loaded(), bar.total()?)));
    // Without a value the browser draws an indeterminate bar.
    let value = bar.and_then(Bar::fraction).map(|part| format!("{part:.4}"));
    view! {
        <div class="bar-line">
            <span id="bar-words">{words}</span>
            <span class="bar-bytes" data-testid="progress-bytes">{bytes}</span>
            <button
                class="bar-stop"
                type="button"
                data-testid="cancel"
                on:click=move |_| controller.dispatch(Event::CancelRequested)
            >
                "Stop"
            </button>
        </div>
        <progress
            class="bar"
            max="1"
            value=value
            aria-labelledby="bar-words"
            data-testid="progress"
        ></progress>
    }
}

fn stage_words(backend: Backend, bar: &Bar) -> String {
    let engine = match backend {
        Backend::Cpu => "CPU",
        Backend::WebGpu => "WebGPU",
    };
    match bar.stage() {
        Stage::Engine => format!("Downloading the {engine} engine…"),
        Stage::Manifest | Stage::Model => "Downloading the model…".to_owned(),
        Stage::SelfTest => format!("Testing the {engine} engine on a known image…"),
        Stage::WarmUp => "Warming up…".to_owned(),
    }
}
