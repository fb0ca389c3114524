//! A tree supplied by the visitor: read, embedded and stored in this browser.

use std::rc::Rc;
use std::sync::Arc;

use espalier_core::taxonomy::Taxonomy;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::HtmlInputElement;

use super::which_tree::choose;
use crate::keep::{keep, kept};
use crate::load::progress::in_megabytes;
use crate::messages::ask::{Ask, AskAnswer, Which};
use crate::state::outline::Outline;
use crate::ui_error::UiError;
use crate::workspace::use_workspace;

/// Key of the text in the browser's storage.
const KEY: &str = "espalier-own-tree";

/// Maximum size in bytes of a tree that is stored.
const ROOM: usize = 400_000;

/// Text of the example.
const EXAMPLE: &str = "tableware\n  cup\n  plate\n  bowl\nvehicle\n  car\n  bicycle\ninstrument\n  cello\n  guitar\nanimal\n  cat\n  raccoon\n  bird\n    owl\n    duck";

/// The fold with the field.
#[component]
pub fn OwnTree() -> impl IntoView {
    let workspace = use_workspace();
    let controller = workspace.controller;
    let text = RwSignal::new(kept(KEY).unwrap_or_default());
    let busy = RwSignal::new(None::<(u64, u64)>);
    let error = RwSignal::new(None::<UiError>);
    let size = move || controller.session.with(|session| session.plan.text);
    let plant = move |_| {
        let given = text.get_untracked();
        error.set(None);
        busy.set(Some((0, 0)));
        spawn_local(async move {
            let report = Rc::new(move |loaded, total| busy.set(Some((loaded, total))));
            let ask = Ask::Plant {
                text: given.clone(),
            };
            let told = controller.ask(ask, None, report).await;
            busy.set(None);
            let tree = told.and_then(|told| match told {
                AskAnswer::Planted { tsv } => {
                    Taxonomy::from_tsv(&tsv).map_err(|e| UiError::from(&e))
                }
                _ => Err(UiError::mixed_versions("another answer than was asked for")),
            });
            match tree {
                Ok(tree) => {
                    keep(
                        KEY,
                        Some(given.as_str()).filter(|given| given.len() <= ROOM),
                    );
                    let tree = Arc::new(tree);
                    let outline = Outline::new(&tree);
                    workspace.own.set(Some(tree));
                    choose(workspace, Which::Bundle);
                    choose(workspace, Which::Own);
                    workspace.outline.set(outline);
                }
                Err(failed) => error.set(Some(failed)),
            }
        });
    };
    let from_file = move |event: web_sys::Event| {
        let input = event
            .target()
            .and_then(|t| t.dyn_into::<HtmlInputElement>().ok());
        let file = input
            .and_then(|input| input.files())
            .and_then(|files| files.get(0));
        if let Some(file) = file {
            spawn_local(async move {
                if let Ok(read) = JsFuture::from(file.text()).await {
                    text.set(read.as_string().unwrap_or_default());
                }
            });
        }
    };
    let doing = move || {
        busy.get().map(|(loaded, total)| match total {
            0 => "Reading it…".to_owned(),
            total if total < 10_000 => format!("{loaded} of {total} names"),
            total => format!("{} of {}", in_megabytes(loaded), in_megabytes(total)),
        })
    };
    let ready = move || controller.is_ready();
    let cannot = move || busy.get().is_some() || text.with(|t| t.trim().is_empty()) || !ready();
    view! {
        <details class="fold" data-testid="own-tree">
            <summary>"Bring your own tree"</summary>
            <div class="fold-body">
                <p class="note" id="own-tree-help">
                    "One name a line, what belongs below it indented; or lineages as CSV; or Newick. \
                     It is read and embedded here, and kept in this browser only."
                </p>
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
                <div class="node-actions">
                    <button
                        class="button is-small"
                        type="button"
                        disabled=cannot
                        data-testid="plant"
                        on:click=plant
                    >
                        {move || match size() {
                            0 => "Plant it".to_owned(),
                            bytes => format!("Plant it (fetches {} once)", in_megabytes(bytes)),
                        }}
                    </button>
                    <label class="button is-quiet is-small">
                        <input
                            class="visually-hidden"
                            type="file"
                            accept=".txt,.csv,.tsv,.nwk,.newick,.tree,text/*"
                            on:change=from_file
                        />
                        <span>"From a file"</span>
                    </label>
                    <button
                        class="button is-quiet is-small"
                        type="button"
                        on:click=move |_| text.set(EXAMPLE.to_owned())
                    >
                        "An example"
                    </button>
                    <button
                        class="button is-quiet is-small"
                        type="button"
                        on:click=move |_| {
                            keep(KEY, None);
                            text.set(String::new());
                            choose(workspace, Which::Bundle);
                            workspace.own.set(None);
                        }
                    >
                        "Forget it"
                    </button>
                </div>
                <p class="note" role="status" data-testid="plant-status">
                    {move || {
                        doing()
                            .or_else(|| {
                                (!ready()).then(|| "Load the model or give a photo first.".to_owned())
                            })
                    }}
                </p>
                {move || {
                    error
                        .get()
                        .map(|e| {
                            view! {
                                <p class="note is-error" role="alert">{e.what} " " {e.todo}</p>
                            }
                        })
                }}
            </div>
        </details>
    }
}
