//! Shows the data that Espalier stores in this browser, and deletes it on request.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::controller::AppController;
use crate::load::kept::{self, Kept};
use crate::load::progress::in_megabytes;
use crate::state::session::Engine;

/// The panel. It is at the foot of the page, where photos change nothing.
#[component]
pub fn StoragePanel(
    /// The page's controller; the panel watches whether its model is loaded.
    controller: AppController,
) -> impl IntoView {
    let found = RwSignal::new(Kept::default());
    Effect::new(move |_| {
        let ready = controller
            .session
            .with(|session| matches!(session.engine, Engine::Ready(_)));
        if ready {
            // Requests persistent storage once there is data worth keeping.
            change_then_look(kept::make_lasting, found);
        } else {
            look(found);
        }
    });
    view! {
        <details class="kept" data-testid="kept" on:toggle=move |_| look(found)>
            <summary>"What this browser keeps"</summary>
            <div class="kept-body">
                <p data-testid="kept-sum" role="status">{move || found.with(sum)}</p>
                <ul>
                    {move || found.with(model_lines)}
                    {move || {
                        found
                            .with(|kept| kept.program)
                            .then(|| {
                                view! { <li>"The page itself, which so opens without a network"</li> }
                            })
                    }}
                </ul>
                {buttons(found)}
            </div>
        </details>
    }
}

/// Reads what is stored into `found`.
fn look(found: RwSignal<Kept>) {
    spawn_local(async move { found.set(kept::look().await) });
}

/// Changes what is stored, then reads it into `found`.
fn change_then_look<Change: Future>(
    change: impl FnOnce() -> Change + 'static,
    found: RwSignal<Kept>,
) {
    spawn_local(async move {
        change().await;
        found.set(kept::look().await);
    });
}

/// Lists the stored models with their sizes.
fn model_lines(kept: &Kept) -> impl IntoView + use<> {
    kept.models
        .iter()
        .map(|(folder, bytes)| {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            format!("Model “{name}”, {}", in_megabytes(*bytes))
        })
        .map(|line| view! { <li data-testid="kept-model">{line}</li> })
        .collect_view()
}

/// The buttons that delete the models or everything.
fn buttons(found: RwSignal<Kept>) -> impl IntoView {
    let empty = move || found.with(|kept| kept.models.is_empty() && !kept.program);
    view! {
        <div class="kept-actions">
            <button
                class="button is-quiet"
                type="button"
                data-testid="delete-models"
                prop:disabled=move || found.with(|kept| kept.models.is_empty())
                on:click=move |_| change_then_look(kept::delete_models, found)
            >
                "Delete the models"
            </button>
            <button
                class="button is-quiet"
                type="button"
                data-testid="delete-all"
                prop:disabled=empty
                on:click=move |_| change_then_look(kept::delete_all, found)
            >
                "Delete everything"
            </button>
        </div>
    }
}

/// Summarises the stored data in a few sentences.
fn sum(kept: &Kept) -> String {
    if kept.models.is_empty() && !kept.program {
        return "Nothing is kept. No photo ever is.".to_owned();
    }
    let used = kept.used.map_or_else(
        || "Espalier is kept here.".to_owned(),
        |bytes| format!("{} in all.", in_megabytes(bytes)),
    );
    let lasting = if kept.lasting {
        " The browser keeps it until you delete it."
    } else {
        " The browser may clear it when space runs short; it is then fetched again."
    };
    format!("{used}{lasting} No photo is ever kept.")
}
