//! The selected concept: its names, its id, and the actions on it.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::keep::copy;
use crate::words::how_sure;
use crate::workspace::use_workspace;

/// A card under the tree.
#[component]
pub fn NodeCard() -> impl IntoView {
    let workspace = use_workspace();
    let copied = RwSignal::new(None::<bool>);
    let found = Memo::new(move |_| {
        let (id, tree) = (workspace.selected.get()?, workspace.shown()?);
        let ix = tree.find(&id)?;
        let node = tree.node(ix);
        let placed = workspace.placed.get();
        let p = placed.and_then(|placed| placed.p.get(ix.index()).copied());
        Some(Looked {
            id,
            name: node.names[0].clone(),
            synonyms: node.names[1..].join(", "),
            labels: tree.labelled_below(ix).len(),
            parents: node
                .parents
                .iter()
                .map(|p| tree.name(*p).to_owned())
                .collect(),
            p,
        })
    });
    Effect::new(move |_| {
        let _ = found.get();
        copied.set(None);
    });
    let link = move || {
        let (base, _) = workspace.controller.addresses();
        format!("{base}{}", workspace.link().to_query())
    };
    let copy_link = move |_| {
        let link = untrack(link);
        spawn_local(async move { copied.set(Some(copy(&link).await)) });
    };
    let said = move || match copied.get() {
        None => "Copy a link to it",
        Some(true) => "Copied",
        Some(false) => "Not allowed here",
    };
    move || {
        found.get().map(|node| {
            let (id, labels) = (node.id.clone(), node.labels);
            let has_photo = node.p.is_some();
            view! {
                <div class="node" data-testid="node-card">
                    <h3 class="node-name">{node.name}</h3>
                    <p class="note">
                        {(!node.synonyms.is_empty()).then(|| format!("Also {}. ", node.synonyms))}
                        {match node.parents.as_slice() {
                            [] => None,
                            above => Some(format!("A kind of {}. ", above.join(" and of "))),
                        }}
                        {match labels {
                            0 => "Nothing below it is recognised.".to_owned(),
                            1 => "One label at or below it. ".to_owned(),
                            n => format!("{n} labels at or below it. "),
                        }}
                        {node.p.map(|p| format!("For this photo: {}. ", how_sure(f64::from(p))))}
                        <code class="node-id">{node.id}</code>
                    </p>
                    <div class="node-actions">
                        <Show when=move || has_photo && labels.ge(&2)>
                            <button
                                class="button is-quiet is-small"
                                type="button"
                                data-testid="search-below"
                                on:click={
                                    let id = id.clone();
                                    move |_| workspace.below.set(Some(id.clone()))
                                }
                            >
                                "Ask below this only"
                            </button>
                        </Show>
                        <button class="button is-quiet is-small" type="button" on:click=copy_link data-testid="copy-link">
                            <span aria-live="polite">{said}</span>
                        </button>
                    </div>
                </div>
            }
        })
    }
}

/// Content of the card.
#[derive(Clone, PartialEq)]
struct Looked {
    id: String,
    name: String,
    synonyms: String,
    labels: usize,
    parents: Vec<String>,
    p: Option<f32>,
}
