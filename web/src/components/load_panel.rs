//! The panel below the photo: the download size before a load, a progress bar during it, and the
//! engine after it.

use leptos::prelude::*;

use super::engine_line::EngineLine;
use crate::controller::use_controller;
use crate::load::progress::{Bar, format_bytes};
use crate::messages::protocol::{Backend, Stage};
use crate::state::session::{Engine, Event, Session};

/// The panel. Its height is the same in every state.
#[component]
pub fn LoadPanel() -> impl IntoView {
    let controller = use_controller();
    let engine = Memo::new(move |_| controller.session.with(|session| session.engine.clone()));
    view! {
        <div class="panel">
            {move || match engine.get() {
                Engine::Off => view! { <LoadButton /> }.into_any(),
                Engine::Probing => view! { <LoadProgress words="Looking for the fastest engine…" /> }.into_any(),
                Engine::Loading { .. } => view! { <LoadProgress words="" /> }.into_any(),
                Engine::Ready(info) => view! { <EngineLine info /> }.into_any(),
                Engine::Failed(_) => view! { <LoadButton /> }.into_any(),
            }}
        </div>
    }
}

/// The button, with the size on it.
#[component]
fn LoadButton() -> impl IntoView {
    let controller = use_controller();
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

/// The bar.
#[component]
fn LoadProgress(
    /// Text to show while no engine is loading.
    words: &'static str,
) -> impl IntoView {
    let controller = use_controller();
    let bar = Memo::new(move |_| {
        controller.session.with(|session| match &session.engine {
            Engine::Loading { backend, bar } => Some((*backend, bar.clone())),
            _ => None,
        })
    });
    let stage = move || {
        bar.get().map_or_else(
            || words.to_owned(),
            |(backend, bar)| stage_words(backend, &bar),
        )
    };
    let bytes = move || bar.with(|bar| bar.as_ref().and_then(|(_, bar)| bytes_of_total(bar)));
    // Without a value the browser draws an indeterminate bar.
    let value = move || {
        bar.with(|bar| bar.as_ref().and_then(|(_, bar)| bar.fraction()))
            .map(|part| format!("{part:.4}"))
    };
    view! {
        <div class="bar-line">
            <span id="bar-words">{stage}</span>
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

fn bytes_of_total(bar: &Bar) -> Option<String> {
    bar.total()
        .map(|total| format!("{} of {}", format_bytes(bar.loaded()), format_bytes(total)))
}
