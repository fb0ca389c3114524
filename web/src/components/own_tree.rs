//! A tree supplied by the visitor: read, embedded and stored in this browser.

use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;

use super::error_card::ErrorNote;
use crate::load::progress::{format_bytes, format_part};
use crate::messages::query::{Query, QueryAnswer, TreeSource};
use crate::save::{chosen_text, store, stored};
use crate::ui_error::UiError;
use crate::workspace::{Workspace, use_workspace};

/// Key of the text in the browser's storage.
const KEY: &str = "espalier-own-tree";

/// Maximum size in bytes of a tree that is stored.
const MAX_STORED_BYTES: usize = 400_000;

/// Text of the example.
const EXAMPLE: &str = "tableware\n  cup\n  plate\n  bowl\nvehicle\n  car\n  bicycle\ninstrument\n  cello\n  guitar\nanimal\n  cat\n  raccoon\n  bird\n    owl\n    duck";

/// The collapsible panel with the text field.
#[component]
pub fn OwnTree() -> impl IntoView {
    let form = Form::new(use_workspace());
    view! {
        <details class="fold" data-testid="own-tree">
            <summary>"Use your own tree"</summary>
            <div class="fold-body">
                <p class="note" id="own-tree-help">
                    "Write one name per line and indent what belongs below it. CSV with one path per line, \
                     lineages of GTDB, Newick and NEXUS work too. Your tree stays in this browser."
                </p>
                {text_field(form.text)}
                <div class="node-actions">{send_button(form)} {other_actions(form)}</div>
                <p class="note" role="status" data-testid="plant-status">
                    {move || {
                        form.progress()
                            .or_else(|| form.note.get())
                            .or_else(|| {
                                (!form.is_ready())
                                    .then(|| "Choose a photo or load the model first.".to_owned())
                            })
                    }}
                </p>
                <ErrorNote error=form.error />
            </div>
        </details>
    }
}

/// The field for the text of the tree.
fn text_field(text: RwSignal<String>) -> impl IntoView {
    view! {
        <label class="field">
            <span class="field-name">"Your tree"</span>
            <textarea
                class="input is-code"
                rows="7"
                spellcheck="false"
                aria-describedby="own-tree-help"
                placeholder=EXAMPLE
                data-testid="own-tree-text"
                prop:value=text
                on:input:target=move |event| text.set(event.target().value())
            ></textarea>
        </label>
    }
}

/// The button that sends the tree to the engine. It names the size of the text encoder while that has to be
/// fetched.
fn send_button(form: Form) -> impl IntoView {
    let session = form.workspace.controller.session;
    let size = move || session.with(|session| session.sizes.text);
    view! {
        <button
            class="button is-small"
            type="button"
            disabled=move || form.is_blocked()
            data-testid="plant"
            on:click=move |_| form.send()
        >
            {move || match size() {
                0 => "Use this tree".to_owned(),
                bytes => format!("Use this tree (downloads {} once)", format_bytes(bytes)),
            }}
        </button>
    }
}

/// The buttons that fill and empty the field.
fn other_actions(form: Form) -> impl IntoView {
    view! {
        <label class="button is-quiet is-small">
            <input
                class="visually-hidden"
                type="file"
                accept=".txt,.csv,.tsv,.nwk,.newick,.tree,.tre,.nex,.nexus,text/*"
                on:change:target=move |event| form.read_file(event.target())
            />
            <span>"Open a file"</span>
        </label>
        <button
            class="button is-quiet is-small"
            type="button"
            on:click=move |_| form.text.set(EXAMPLE.to_owned())
        >
            "Show an example"
        </button>
        <button class="button is-quiet is-small" type="button" on:click=move |_| form.forget()>
            "Remove it"
        </button>
    }
}

/// The text, its progress and its error; cheap to copy.
#[derive(Clone, Copy)]
struct Form {
    workspace: Workspace,
    text: RwSignal<String>,
    /// Progress while the tree is read, as done and total.
    busy: RwSignal<Option<(u64, u64)>>,
    error: RwSignal<Option<UiError>>,
    /// Remark of the reader, such as that the text has several trees.
    note: RwSignal<Option<String>>,
}

impl Form {
    /// Creates the form with the text stored in this browser.
    fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            text: RwSignal::new(stored(KEY).unwrap_or_default()),
            busy: RwSignal::new(None),
            error: RwSignal::new(None),
            note: RwSignal::new(None),
        }
    }

    fn is_ready(self) -> bool {
        self.workspace.controller.is_ready()
    }

    /// Returns whether the text cannot be sent now.
    fn is_blocked(self) -> bool {
        self.busy.get().is_some()
            || self.text.with(|text| text.trim().is_empty())
            || !self.is_ready()
    }

    /// Describes the progress; `None` if no tree is being read.
    fn progress(self) -> Option<String> {
        self.busy.get().map(|(loaded, total)| match total {
            0 => "Reading it…".to_owned(),
            total if total < 10_000 => format!("{loaded} of {total} names"),
            total => format_part(loaded, total),
        })
    }

    /// Lets the engine read and embed the text, then shows the tree or the error.
    fn send(self) {
        let controller = self.workspace.controller;
        let text = self.text.get_untracked();
        self.error.set(None);
        self.note.set(None);
        self.busy.set(Some((0, 0)));
        spawn_local(async move {
            let query = Query::EmbedTree { text: text.clone() };
            let answer = controller.ask(query, None, Some(self.busy)).await;
            self.busy.set(None);
            match answer.and_then(tree_of) {
                Ok((tree, note)) => {
                    self.note.set(note);
                    self.show(&text, tree);
                }
                Err(failed) => self.error.set(Some(failed)),
            }
        });
    }

    /// Stores the text, unless it is too long, and shows its tree.
    fn show(self, text: &str, tree: Taxonomy) {
        store(
            KEY,
            Some(text).filter(|text| text.len() <= MAX_STORED_BYTES),
        );
        self.workspace.visitor_tree.set(Some(Arc::new(tree)));
        // There and back, so that nothing of an earlier tree of the visitor stays.
        self.workspace.switch_tree(TreeSource::Bundle);
        self.workspace.switch_tree(TreeSource::Own);
    }

    /// Puts the content of the chosen file into the field.
    fn read_file(self, input: HtmlInputElement) {
        spawn_local(async move {
            if let Some(text) = chosen_text(input).await {
                self.text.set(text);
            }
        });
    }

    /// Removes the tree from the page and its text from the browser.
    fn forget(self) {
        store(KEY, None);
        self.text.set(String::new());
        self.workspace.switch_tree(TreeSource::Bundle);
        self.workspace.visitor_tree.set(None);
    }
}

/// Parses the engine's answer to [`Query::EmbedTree`].
fn tree_of(answer: QueryAnswer) -> Result<(Taxonomy, Option<String>), UiError> {
    match answer {
        QueryAnswer::TreeEmbedded { tsv, note } => Ok((Taxonomy::from_tsv(&tsv)?, note)),
        _ => Err(UiError::other_answer()),
    }
}
