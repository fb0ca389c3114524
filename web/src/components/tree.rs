//! The explorer of the taxonomy: search, the tree, the selected concept and the visitor's tree.

use leptos::prelude::*;

use super::node::NodeCard;
use super::own_tree::OwnTree;
use super::tree_rows::Rows;
use super::tree_search::TreeSearch;
use crate::messages::query::TreeSource;
use crate::workspace::use_workspace;

/// The explorer.
#[component]
pub fn TreePanel() -> impl IntoView {
    let workspace = use_workspace();
    let has_visitor_tree = move || workspace.visitor_tree.with(Option::is_some);
    let tab = move |source: TreeSource, words: &'static str| {
        view! {
            <button
                class="tab"
                type="button"
                aria-pressed=move || (workspace.tree_source.get() == source).to_string()
                on:click=move |_| workspace.switch_tree(source)
            >
                {words}
            </button>
        }
    };
    view! {
        <section class="sheet" aria-labelledby="tree-title" data-testid="tree-panel">
            <div class="sheet-head">
                <h2 id="tree-title" tabindex="-1">"The tree of concepts"</h2>
                <Show when=has_visitor_tree>
                    <div class="tabs" role="group" aria-label="Which tree">
                        {tab(TreeSource::Bundle, "The model's")} {tab(TreeSource::Own, "Yours")}
                    </div>
                </Show>
            </div>
            <TreeSearch />
            <Restriction />
            {move || match (workspace.tree_source.get(), workspace.tree.get()) {
                (TreeSource::Bundle, None) => {
                    view! { <p class="note" role="status">"The tree is being fetched…"</p> }.into_any()
                }
                (TreeSource::Bundle, Some(Err(error))) => {
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
fn Restriction() -> impl IntoView {
    let workspace = use_workspace();
    let name = move || {
        let (id, tree) = (workspace.below.get()?, workspace.shown()?);
        Some(tree.name(tree.find(&id)?).to_owned())
    };
    move || {
        name().map(|name| {
            view! {
                <p class="narrowed" role="status" data-testid="narrowed">
                    <span>"Only concepts below “" <b>{name}</b> "” are considered."</span>
                    <button class="linkish" type="button" on:click=move |_| workspace.below.set(None)>
                        "Consider all concepts"
                    </button>
                </p>
            }
        })
    }
}
