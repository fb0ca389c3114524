//! The selected concept: its names, its id, and the actions on it.

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::save::copy;
use crate::words::certainty;
use crate::workspace::{Workspace, use_workspace};

/// A card under the tree.
#[component]
pub fn NodeCard() -> impl IntoView {
    let workspace = use_workspace();
    let copied = RwSignal::new(None::<bool>);
    let details = Memo::new(move |_| NodeDetails::of_selected(workspace));
    Effect::new(move |_| {
        let _ = details.get();
        copied.set(None);
    });
    move || {
        details.get().map(|node| {
            view! {
                <div class="node" data-testid="node-card">
                    <h3 class="node-name">{node.name.clone()}</h3>
                    <p class="note">
                        {node.words.clone()}
                        {node.p.map(|(p, beyond)| format!("For this photo: {}. ", certainty(f64::from(p), beyond)))}
                        <code class="node-id">{node.id.clone()}</code>
                    </p>
                    <div class="node-actions">
                        {below_button(workspace, node)} {link_button(workspace, copied)}
                    </div>
                </div>
            }
        })
    }
}

/// The button that restricts the question to the labels at or below the node. It needs a photo, and
/// two labels to choose from.
fn below_button(workspace: Workspace, node: NodeDetails) -> impl IntoView {
    let (id, labels, has_photo) = (node.id, node.labels, node.p.is_some());
    view! {
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
                "Only look below this"
            </button>
        </Show>
    }
}

/// The button that copies the address of the current view; `copied` is the outcome.
fn link_button(workspace: Workspace, copied: RwSignal<Option<bool>>) -> impl IntoView {
    let copy_link = move |_| {
        let link = untrack(|| workspace.address(&workspace.link()));
        spawn_local(async move { copied.set(Some(copy(&link).await)) });
    };
    let label = move || match copied.get() {
        None => "Copy a link to it",
        Some(true) => "Copied",
        Some(false) => "Not allowed here",
    };
    view! {
        <button class="button is-quiet is-small" type="button" on:click=copy_link data-testid="copy-link">
            <span aria-live="polite">{label}</span>
        </button>
    }
}

/// Content of the card.
#[derive(Clone, PartialEq)]
struct NodeDetails {
    id: String,
    name: String,
    /// Its synonyms, its parents and what the model recognises of it, as sentences.
    words: String,
    /// Number of labels at or below it.
    labels: usize,
    /// Probability for the photo, and whether the node lies beyond the one where the evidence stops.
    p: Option<(f32, bool)>,
}

impl NodeDetails {
    /// Looks up the selected node in the shown tree.
    fn of_selected(workspace: Workspace) -> Option<Self> {
        let (id, tree) = (workspace.selected.get()?, workspace.shown()?);
        let ix = tree.find(&id)?;
        let node = tree.node(ix);
        let placed = workspace.placed.get();
        let p = placed.and_then(|placed| {
            let stop = tree.find(&placed.place.path.stop);
            let known = stop.is_some_and(|stop| tree.is_at_or_above(ix, stop));
            Some((*placed.place.p.get(ix.index())?, !known))
        });
        let labels = tree.labelled_below(ix).len();
        let mut words = String::new();
        let synonyms = &node.names[1..];
        if !synonyms.is_empty() {
            words += &format!("Also {}. ", synonyms.join(", "));
        }
        let parents: Vec<&str> = node.parents.iter().map(|p| tree.name(*p)).collect();
        if !parents.is_empty() {
            words += &format!("A kind of {}. ", parents.join(" and of "));
        }
        words += &match labels {
            0 => "The model recognises nothing below it. ".to_owned(),
            1 => "The model recognises one kind of it. ".to_owned(),
            n => format!("The model recognises {n} kinds of it. "),
        };
        Some(Self {
            id,
            name: node.names[0].clone(),
            words,
            labels,
            p,
        })
    }
}
