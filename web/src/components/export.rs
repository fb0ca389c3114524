//! Exports: the result as JSON and CSV, a card as PNG, a link.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::answer::shown_sentence;
use super::card::card;
use crate::save::{copy, save, save_text};
use crate::state::batch::Batch;
use crate::state::session::Answer;
use crate::workspace::{Workspace, use_workspace};

/// The panel; shown only if there is an answer.
#[component]
pub fn ExportPanel() -> impl IntoView {
    let workspace = use_workspace();
    move || workspace.answer().map(|answer| view! { <Export answer /> })
}

#[component]
fn Export(answer: Arc<Answer>) -> impl IntoView {
    let exports = Exports::new(use_workspace(), answer);
    view! {
        <section class="sheet" aria-labelledby="take-title" data-testid="take-panel">
            <div class="sheet-head">
                <h2 id="take-title">"Save or share"</h2>
            </div>
            {buttons(exports)}
            <p class="note" role="status" data-testid="take-said">
                {move || exports.outcome.get().unwrap_or_else(|| exports.link_words())}
            </p>
            <details class="fold" prop:open=exports.open>
                <summary>"Show link and JSON"</summary>
                <div class="fold-body">
                    <p class="note is-wrapped" data-testid="link">{move || exports.link()}</p>
                    <pre tabindex="0" aria-label="Result as JSON"><code data-testid="json">{exports.json()}</code></pre>
                </div>
            </details>
        </section>
    }
}

/// One button for each export.
fn buttons(exports: Exports) -> impl IntoView {
    let quiet = move |id: &'static str, words: &'static str, export: fn(Exports)| {
        view! {
            <button class="button is-quiet" type="button" data-testid=id
                on:click=move |_| export(exports)>
                {words}
            </button>
        }
    };
    view! {
        <div class="take">
            <button class="button" type="button" data-testid="card" on:click=move |_| exports.save_card()>
                "Save a card to share (PNG)"
            </button>
            {quiet("permalink", "Copy a link", Exports::copy_link)}
            {quiet("copy-json", "Copy as JSON", Exports::copy_json)}
            {quiet("save-json", "Save as JSON", Exports::save_json)}
            {quiet("save-csv", "Save as CSV", Exports::save_csv)}
        </div>
    }
}

/// The exports of one answer; cheap to copy.
#[derive(Clone, Copy)]
struct Exports {
    workspace: Workspace,
    answer: StoredValue<Arc<Answer>>,
    /// What the last export did, as a sentence.
    outcome: RwSignal<Option<&'static str>>,
    /// Whether link and JSON are unfolded, to copy them by hand.
    open: RwSignal<bool>,
}

impl Exports {
    fn new(workspace: Workspace, answer: Arc<Answer>) -> Self {
        Self {
            workspace,
            answer: StoredValue::new(answer),
            outcome: RwSignal::new(None),
            open: RwSignal::new(false),
        }
    }

    fn json(self) -> String {
        self.answer.with_value(|answer| answer.json.clone())
    }

    /// Returns the address of the current view.
    fn link(self) -> String {
        self.workspace.address(&self.workspace.link())
    }

    /// Says what the link opens.
    fn link_words(self) -> &'static str {
        let sample = self
            .workspace
            .controller
            .photo
            .with(|p| p.as_ref().is_some_and(|p| p.sample.is_some()));
        if sample {
            "The link opens this sample with the same settings."
        } else {
            "Your photo is not in the link. Whoever opens it needs a photo of their own."
        }
    }

    fn copy_link(self) {
        self.copy(untrack(|| self.link()), "The link copied.");
    }

    fn copy_json(self) {
        self.copy(self.json(), "The result copied.");
    }

    /// Copies a text and says so, or unfolds link and JSON if the browser does not allow it.
    fn copy(self, text: String, done: &'static str) {
        const REFUSED: &str = "The browser did not allow it. You can copy it by hand below.";
        spawn_local(async move {
            if copy(&text).await {
                self.outcome.set(Some(done));
            } else {
                self.outcome.set(Some(REFUSED));
                self.open.set(true);
            }
        });
    }

    fn save_card(self) {
        let workspace = self.workspace;
        let Some(photo) = workspace.controller.photo.get_untracked() else {
            return;
        };
        let answer = self.answer.get_value();
        let sentence = untrack(|| shown_sentence(workspace, &answer, workspace.level.get()));
        spawn_local(async move {
            if let Some(blob) = card(&photo, &answer.result, &sentence).await {
                save(&blob, "espalier.png");
                self.outcome.set(Some("The card saved."));
            }
        });
    }

    fn save_json(self) {
        save_text(&self.json(), "espalier.json", "application/json");
        self.outcome.set(Some("The result saved."));
    }

    fn save_csv(self) {
        let workspace = self.workspace;
        let name = workspace
            .controller
            .photo
            .with_untracked(|p| p.as_ref().map(|p| p.file.name()));
        let csv = self.answer.with_value(|answer| {
            let radius = workspace
                .placed
                .with_untracked(|p| p.as_ref().map_or(0.0, |p| p.place.radius));
            let mut batch = Batch::new(vec![(answer.photo, name.unwrap_or_default())]);
            batch.record(answer.photo, Ok((answer.result.clone(), radius)));
            batch.to_csv()
        });
        save_text(&csv, "espalier.csv", "text/csv");
        self.outcome.set(Some("The table saved."));
    }
}
