//! Exports: the result as JSON and CSV, a card as PNG, a link.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::card::card;
use crate::keep::{copy, save, save_text};
use crate::state::batch::Batch;
use crate::state::session::Answer;
use crate::words::sentence;
use crate::workspace::use_workspace;

/// Outcome of the last export.
#[derive(Clone, Copy, PartialEq)]
enum Came {
    Nothing,
    Copied(&'static str),
    Refused,
    Saved(&'static str),
}

impl Came {
    fn in_words(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Copied(what) => format!("{what} copied."),
            Self::Refused => "The browser did not allow it; copy by hand below.".to_owned(),
            Self::Saved(what) => format!("{what} saved."),
        }
    }
}

/// The panel; shown only if there is an answer.
#[component]
pub fn TakePanel() -> impl IntoView {
    let workspace = use_workspace();
    move || workspace.answer().map(|answer| view! { <Take answer /> })
}

#[component]
fn Take(
    /// The answer to export.
    answer: Arc<Answer>,
) -> impl IntoView {
    let workspace = use_workspace();
    let came = RwSignal::new(Came::Nothing);
    let open = RwSignal::new(false);
    let answer = StoredValue::new(answer);
    let json = move || answer.with_value(|answer| answer.json.clone());
    let link = move || {
        let (base, _) = workspace.controller.addresses();
        format!("{base}{}", workspace.link().to_query())
    };
    let copy_text = move |text: String, what: &'static str| {
        spawn_local(async move {
            let done = copy(&text).await;
            came.set(if done {
                Came::Copied(what)
            } else {
                Came::Refused
            });
            if !done {
                open.set(true);
            }
        });
    };
    let save_card = move |_| {
        let Some(photo) = workspace.controller.photo.get_untracked() else {
            return;
        };
        let answer = answer.get_value();
        let taxonomy = &answer.result.taxonomy;
        let said = untrack(|| sentence(taxonomy, &workspace.dial(taxonomy), workspace.level.get()));
        spawn_local(async move {
            if let Some(blob) = card(&photo, &answer.result, &said).await {
                save(&blob, "espalier.png");
                came.set(Came::Saved("The card"));
            }
        });
    };
    let save_csv = move |_| {
        let name = workspace
            .controller
            .photo
            .with_untracked(|p| p.as_ref().map(|p| p.name()));
        let csv = answer.with_value(|answer| {
            let radius = workspace
                .placed
                .with_untracked(|p| p.as_ref().map_or(0.0, |p| p.radius));
            let mut batch = Batch::new(vec![(answer.photo, name.unwrap_or_default())]);
            batch.settle(answer.photo, Ok((answer.result.clone(), radius)));
            batch.to_csv()
        });
        save_text(&csv, "espalier.csv", "text/csv");
        came.set(Came::Saved("The table"));
    };
    let of_sample = move || {
        let sample = workspace
            .controller
            .photo
            .with(|p| p.as_ref().is_some_and(|p| p.sample.is_some()));
        if sample {
            "The link opens this sample, node and dial."
        } else {
            "The link carries node and dial, and never your photo."
        }
    };
    view! {
        <section class="sheet" aria-labelledby="take-title" data-testid="take-panel">
            <div class="sheet-head">
                <h2 id="take-title">"Take it along"</h2>
            </div>
            <div class="take">
                <button class="button" type="button" data-testid="card" on:click=save_card>
                    "A card to share (PNG)"
                </button>
                <button
                    class="button is-quiet"
                    type="button"
                    data-testid="permalink"
                    on:click=move |_| copy_text(untrack(link), "The link")
                >
                    "Copy a link"
                </button>
                <button
                    class="button is-quiet"
                    type="button"
                    data-testid="copy-json"
                    on:click=move |_| copy_text(json(), "The result")
                >
                    "Copy as JSON"
                </button>
                <button
                    class="button is-quiet"
                    type="button"
                    data-testid="save-json"
                    on:click=move |_| {
                        save_text(&json(), "espalier.json", "application/json");
                        came.set(Came::Saved("The result"));
                    }
                >
                    "Save as JSON"
                </button>
                <button class="button is-quiet" type="button" data-testid="save-csv" on:click=save_csv>
                    "Save as CSV"
                </button>
            </div>
            <p class="note" role="status" data-testid="take-said">
                {move || match came.get() {
                    Came::Nothing => of_sample().to_owned(),
                    came => came.in_words(),
                }}
            </p>
            <details class="fold" prop:open=open>
                <summary>"Show link and JSON"</summary>
                <div class="fold-body">
                    <p class="note is-wrapped" data-testid="link">{link}</p>
                    <pre tabindex="0" aria-label="Result as JSON"><code data-testid="json">{json()}</code></pre>
                </div>
            </details>
        </section>
    }
}
