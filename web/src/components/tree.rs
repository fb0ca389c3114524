//! The explorer of the taxonomy: search, the tree, the selected concept and the visitor's own tree.

use leptos::prelude::*;

use super::node::NodeCard;
use super::own_tree::OwnTree;
use super::tree_rows::Rows;
use super::tree_search::TreeSearch;
use super::which_tree::choose;
use crate::messages::ask::Which;
use crate::workspace::use_workspace;

/// The explorer.
#[component]
pub fn TreePanel() -> impl IntoView {
    let workspace = use_workspace();
    let own = move || workspace.own.with(Option::is_some);
    let tab = move |which: Which, words: &'static str| {
        view! {
            <button
                class="tab"
                type="button"
                aria-pressed=move || (workspace.which.get() == which).to_string()
                on:click=move |_| choose(workspace, which)
            >
                {words}
            </button>
        }
    };
    view! {
        <section class="sheet" aria-labelledby="tree-title" data-testid="tree-panel">
            <div class="sheet-head">
                <h2 id="tree-title" tabindex="-1">"The tree of concepts"</h2>
                <Show when=own>
                    <div class="tabs" role="group" aria-label="Which tree">
                        {tab(Which::Bundle, "The model's")} {tab(Which::Own, "Yours")}
                    </div>
                </Show>
            </div>
            <TreeSearch />
            <Below />
            {move || match (workspace.which.get(), workspace.tree.get()) {
                (Which::Bundle, None) => {
                    view! { <p class="note" role="status">"The tree is being fetched…"</p> }.into_any()
                }
                (Which::Bundle, Some(Err(error))) => {
                    view! { <p class="note is-error" role="alert">{error.what}</p> }.into_any()
                }
                _ => {
                    workspace
                        .shown()
                        .map(|tree| view! { <Rows tree /> }.into_any())
                        .unwrap_or_else(|| ().into_any())
                }
            }}
            <NodeCard />
            <OwnTree />
        </section>
    }
}

/// The node that the tree is restricted to, and the button that lifts the restriction.
#[component]
fn Below() -> impl IntoView {
    let workspace = use_workspace();
    let name = move || {
        let (id, tree) = (workspace.below.get()?, workspace.shown()?);
        Some(tree.name(tree.find(&id)?).to_owned())
    };
    move || {
        name().map(|name| {
            view! {
                <p class="narrowed" role="status" data-testid="narrowed">
                    <span>"Asked below “" <b>{name}</b> "” only."</span>
                    <button class="linkish" type="button" on:click=move |_| workspace.below.set(None)>
                        "Ask the whole tree"
                    </button>
                </p>
            }
        })
    }
}
