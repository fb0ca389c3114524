//! Shows the data that Espalier stores in this browser, and deletes it on request.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::controller::AppController;
use crate::load::progress::format_bytes;
use crate::load::storage::{self, StoredData};
use crate::save::forget_all;
use crate::state::session::Engine;

/// The panel. It is at the foot of the page, where photos change nothing.
#[component]
pub fn StoragePanel(
    /// The page's controller; the panel watches whether its model is loaded.
    controller: AppController,
) -> impl IntoView {
    let data = RwSignal::new(StoredData::default());
    let outcome = RwSignal::new("");
    let has_loaded = Memo::new(move |_| {
        controller
            .session
            .with(|session| session.turn > 0 && matches!(session.engine, Engine::Ready(_)))
    });
    Effect::new(move |_| {
        let has_loaded = has_loaded.get();
        spawn_local(async move {
            // Requests persistent storage once there is data worth keeping. Some browsers ask the
            // visitor, who must have done something before.
            if has_loaded {
                storage::request_persistence().await;
            }
            data.set(storage::inspect().await);
        });
    });
    view! {
        <details class="kept" data-testid="kept" on:toggle=move |_| refresh(data)>
            <summary>"What this browser stores"</summary>
            <div class="kept-body">
                <p data-testid="kept-sum" role="status">{outcome} " " {move || data.with(summary)}</p>
                <ul>
                    {move || data.with(model_lines)}
                    {move || {
                        data
                            .with(|data| data.program)
                            .then(|| {
                                view! { <li>"The page itself, so that it opens without a connection"</li> }
                            })
                    }}
                </ul>
                {buttons(data, outcome)}
            </div>
        </details>
    }
}

/// Reads what is stored into `data`.
fn refresh(data: RwSignal<StoredData>) {
    spawn_local(async move { data.set(storage::inspect().await) });
}

/// Deletes the models or everything, then reads what is stored into `data`; `outcome` says what was
/// done.
fn delete(everything: bool, data: RwSignal<StoredData>, outcome: RwSignal<&'static str>) {
    outcome.set("");
    spawn_local(async move {
        if everything {
            storage::delete_all().await;
            forget_all();
            outcome.set("Everything was deleted.");
        } else {
            storage::delete_models().await;
            outcome.set("The models were deleted.");
        }
        data.set(storage::inspect().await);
    });
}

/// Lists the stored models with their sizes.
fn model_lines(data: &StoredData) -> impl IntoView + use<> {
    data.models
        .iter()
        .map(|(folder, bytes)| {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            format!("Model “{name}”, {}", format_bytes(*bytes))
        })
        .map(|line| view! { <li data-testid="kept-model">{line}</li> })
        .collect_view()
}

/// The buttons that delete the models or everything.
fn buttons(data: RwSignal<StoredData>, outcome: RwSignal<&'static str>) -> impl IntoView {
    let empty = move || data.with(|data| data.models.is_empty() && !data.program);
    view! {
        <div class="kept-actions">
            <button
                class="button is-quiet"
                type="button"
                data-testid="delete-models"
                prop:disabled=move || data.with(|data| data.models.is_empty())
                on:click=move |_| delete(false, data, outcome)
            >
                "Delete the models"
            </button>
            <button
                class="button is-quiet"
                type="button"
                data-testid="delete-all"
                prop:disabled=empty
                on:click=move |_| delete(true, data, outcome)
            >
                "Delete everything"
            </button>
        </div>
    }
}

/// Summarises the stored data in a few sentences.
fn summary(data: &StoredData) -> String {
    if data.models.is_empty() && !data.program {
        return "Nothing is stored here. Photos never are.".to_owned();
    }
    let used = data.used.map_or_else(
        || "Espalier is stored here.".to_owned(),
        |bytes| format!("{} in all.", format_bytes(bytes)),
    );
    let persistence = if data.persistent {
        " The browser keeps it until you delete it."
    } else {
        " The browser may clear it when space runs short. It is then downloaded again."
    };
    format!("{used}{persistence} Photos are never stored.")
}
