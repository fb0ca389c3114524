//! The taxonomy as a tree with keyboard navigation and a bar for each concept.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::folder::Folder;
use super::node::NodeCard;
use super::own_tree::OwnTree;
use super::tree_search::TreeSearch;
use super::which_tree::choose;
use crate::messages::ask::Which;
use crate::state::batch::Batch;
use crate::state::outline::Row;
use crate::words::how_sure;
use crate::workspace::{Workspace, use_workspace};

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

/// Numbers and marks of the nodes; `p` is in the order of the taxonomy, `counts` is by node id.
#[derive(Clone, Default, PartialEq)]
struct Figures {
    p: Option<Vec<f32>>,
    counts: BTreeMap<String, u32>,
    stop: Option<NodeIx>,
    path: Vec<NodeIx>,
}

/// The rows.
#[component]
fn Rows(
    /// The taxonomy.
    tree: Arc<Taxonomy>,
) -> impl IntoView {
    let workspace = use_workspace();
    let folder = expect_context::<Folder>();
    let of_tree = StoredValue::new(tree);
    let figures = Memo::new(move |_| {
        let which = workspace.which.get();
        let placed = workspace.placed.get().filter(|placed| placed.tree == which);
        let find = |id: &str| of_tree.with_value(|tree| tree.find(id));
        Figures {
            stop: placed.as_ref().and_then(|placed| find(&placed.path.stop)),
            path: placed.as_ref().map_or_else(Vec::new, |placed| {
                placed
                    .path
                    .path
                    .iter()
                    .filter_map(|step| find(&step.id))
                    .collect()
            }),
            p: placed.map(|placed| placed.p.clone()),
            counts: match which {
                Which::Bundle => folder.batch.with(Batch::counts),
                Which::Own => BTreeMap::new(),
            },
        }
    });
    let rows = Memo::new(move |_| {
        figures.with(|figures| {
            let weight = |ix: NodeIx| {
                let p = figures.p.as_ref().and_then(|p| p.get(ix.index()).copied());
                p.unwrap_or(0.0)
            };
            of_tree.with_value(|tree| workspace.outline.with(|outline| outline.rows(tree, weight)))
        })
    });
    let key = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let pressed = event.key();
        let focus = workspace
            .outline
            .with_untracked(|outline| outline.focus().to_vec());
        if matches!(pressed.as_str(), "Enter" | " ") {
            event.prevent_default();
            let id = focus
                .last()
                .map(|ix| of_tree.with_value(|t| t.node(*ix).id.clone()));
            workspace.selected.set(id);
            return;
        }
        let rows = rows.get_untracked();
        let mut meant = false;
        workspace.outline.update(|outline| {
            meant = of_tree.with_value(|tree| outline.key(tree, &rows, &pressed));
        });
        if meant {
            event.prevent_default();
            follow_focus(workspace);
        }
    };
    view! {
        <ul
            class="tree"
            role="tree"
            aria-label="Concepts, general to specific"
            data-testid="tree"
            on:keydown=key
        >
            <For each=move || rows.get() key=|row| (row.key(), row.open, row.place, row.siblings) let(row)>
                <TreeRow row figures of_tree />
            </For>
        </ul>
    }
}

/// Moves the browser's focus to the outline's focused row, once the rows are rendered.
fn follow_focus(workspace: Workspace) {
    request_animation_frame(move || {
        let key = workspace
            .outline
            .with_untracked(|outline| crate::state::outline::key_of(outline.focus()));
        let row = document().get_element_by_id(&format!("row-{key}"));
        if let Some(row) = row.and_then(|row| row.dyn_into::<HtmlElement>().ok()) {
            let _ = row.focus();
        }
    });
}

/// Sets the level of a row, for which the framework has no attribute.
fn at_level(row: Element, level: usize) {
    let _ = row.set_attribute("aria-level", &level.to_string());
}

/// One concept.
#[component]
fn TreeRow(
    /// Its row.
    row: Row,
    /// Numbers of all nodes.
    figures: Memo<Figures>,
    /// The taxonomy.
    of_tree: StoredValue<Arc<Taxonomy>>,
) -> impl IntoView {
    let workspace = use_workspace();
    let controller = workspace.controller;
    let node = row.node();
    let (name, id) = of_tree.with_value(|tree| {
        let node = tree.node(node);
        (node.names[0].clone(), node.id.clone())
    });
    let depth = row.way.len();
    let way = StoredValue::new(row.way.clone());
    let key = row.key();
    let p = Memo::new(move |_| {
        figures.with(|f| f.p.as_ref().and_then(|p| p.get(node.index()).copied()))
    });
    let count = {
        let id = id.clone();
        Memo::new(move |_| figures.with(|f| f.counts.get(&id).copied()))
    };
    let on_path = Memo::new(move |_| figures.with(|f| f.path.contains(&node)));
    let is_stop = Memo::new(move |_| figures.with(|f| f.stop == Some(node)));
    let focused = Memo::new(move |_| {
        way.with_value(|way| workspace.outline.with(|outline| outline.focus() == way))
    });
    let selected = {
        let id = id.clone();
        Memo::new(move |_| {
            workspace
                .selected
                .with(|s| s.as_deref() == Some(id.as_str()))
        })
    };
    let sure = move || {
        p.get().map(|p| {
            if controller.numbers.get() {
                format!("{p:.3}")
            } else if p < 0.01 {
                String::new()
            } else {
                how_sure(f64::from(p)).to_owned()
            }
        })
    };
    let click = move |_| {
        workspace.outline.update(|outline| {
            way.with_value(|way| {
                if outline.focus() == way || row.open == Some(false) {
                    outline.toggle(way);
                }
                outline.set_focus(way.clone());
            });
        });
        workspace.selected.set(Some(id.clone()));
        follow_focus(workspace);
    };
    view! {
        <li
            class="tree-row"
            class:on-path=on_path
            class:is-stop=is_stop
            class:is-leaf=row.open.is_none()
            id=format!("row-{key}")
            role="treeitem"
            use:at_level=depth
            aria-posinset=row.place.to_string()
            aria-setsize=row.siblings.to_string()
            aria-expanded=row.open.map(|open| open.to_string())
            aria-selected=move || selected.get().to_string()
            tabindex=move || if focused.get() { "0" } else { "-1" }
            style=("--depth", (depth - 1).to_string())
            data-testid="tree-row"
            data-name=name.clone()
            on:click=click
        >
            <span class="tree-fold" aria-hidden="true"></span>
            <span class="tree-name">{name.clone()}</span>
            <span class="tree-count">
                {move || count.get().map(|n| format!("{n} photo{}", if n == 1 { "" } else { "s" }))}
            </span>
            <span class="tree-bar" aria-hidden="true" class:is-off=move || p.get().is_none()>
                <span style=("--p", move || format!("{:.4}", p.get().unwrap_or(0.0)))></span>
            </span>
            <span class="tree-sure">{sure}</span>
            {move || {
                is_stop
                    .get()
                    .then(|| {
                        view! { <span class="visually-hidden">", the evidence carries to here"</span> }
                    })
            }}
        </li>
    }
}
