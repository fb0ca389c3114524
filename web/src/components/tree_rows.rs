//! The taxonomy as a tree with keyboard navigation and a bar for each concept.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::folder::Folder;
use crate::messages::query::TreeSource;
use crate::state::batch::Batch;
use crate::state::outline::{Row, key_of};
use crate::words::certainty;
use crate::workspace::{Workspace, use_workspace};

/// Numbers and marks of the nodes; `p` is in the order of the taxonomy, `counts` is by node id.
#[derive(Clone, Default, PartialEq)]
struct NodeValues {
    p: Option<Vec<f32>>,
    counts: BTreeMap<String, u32>,
    stop: Option<NodeIx>,
    /// The stop and the nodes above it: what the evidence supports.
    known: Vec<NodeIx>,
    path: Vec<NodeIx>,
}

impl NodeValues {
    /// Reads the photo's place in the shown tree, and for the model's tree the counts of the folder.
    fn of(tree: &Taxonomy, workspace: Workspace, folder: Folder) -> Self {
        let source = workspace.tree_source.get();
        let placed = workspace.placed.get();
        let place = placed.as_ref().filter(|placed| placed.tree == source);
        let place = place.map(|placed| &placed.place);
        let stop = place.and_then(|place| tree.find(&place.path.stop));
        let path = place.iter().flat_map(|place| &place.path.path);
        Self {
            known: stop.map_or_else(Vec::new, |stop| {
                let above = tree.ancestors(stop).iter().copied();
                above.chain([stop]).collect()
            }),
            stop,
            path: path.filter_map(|step| tree.find(&step.id)).collect(),
            p: place.map(|place| place.p.clone()),
            counts: match source {
                TreeSource::Bundle => folder.batch.with(Batch::counts),
                TreeSource::Own => BTreeMap::new(),
            },
        }
    }

    fn p_of(&self, node: NodeIx) -> Option<f32> {
        self.p.as_ref().and_then(|p| p.get(node.index()).copied())
    }

    /// Returns the marks of the node with this index and id.
    fn marks(&self, node: NodeIx, id: &str) -> Marks {
        Marks {
            p: self.p_of(node),
            is_beyond: !self.known.contains(&node),
            count: self.counts.get(id).copied(),
            is_on_path: self.path.contains(&node),
            is_stop: self.stop == Some(node),
        }
    }
}

/// What a row shows of its node.
#[derive(Clone, Copy, PartialEq)]
struct Marks {
    p: Option<f32>,
    /// Whether it lies beyond the node where the evidence stops.
    is_beyond: bool,
    count: Option<u32>,
    is_on_path: bool,
    is_stop: bool,
}

/// The rows.
#[component]
pub fn Rows(tree: Arc<Taxonomy>) -> impl IntoView {
    let workspace = use_workspace();
    let folder = expect_context::<Folder>();
    let tree = StoredValue::new(tree);
    let values =
        Memo::new(move |_| tree.with_value(|tree| NodeValues::of(tree, workspace, folder)));
    let rows = Memo::new(move |_| {
        values.with(|values| {
            let weight = |ix: NodeIx| values.p_of(ix).unwrap_or(0.0);
            tree.with_value(|tree| workspace.outline.with(|outline| outline.rows(tree, weight)))
        })
    });
    let current = Memo::new(move |_| {
        rows.with(|rows| rows.iter().map(|row| (row.key(), row.clone())).collect())
    });
    view! {
        <ul
            class="tree"
            role="tree"
            aria-label="Concepts, general to specific"
            data-testid="tree"
            on:keydown=move |event| on_key(workspace, tree, rows, &event)
        >
            // A row keeps its element while it is expanded and collapsed, and with it the focus, so
            // that no key is lost in between.
            <For each=move || rows.get() key=Row::key let(row)>
                <TreeRow row current values tree />
            </For>
        </ul>
    }
}

/// Handles a key: Enter and space select the focused concept, other keys change the outline.
fn on_key(
    workspace: Workspace,
    tree: StoredValue<Arc<Taxonomy>>,
    rows: Memo<Vec<Row>>,
    event: &KeyboardEvent,
) {
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
            .map(|ix| tree.with_value(|t| t.node(*ix).id.clone()));
        workspace.selected.set(id);
        return;
    }
    let rows = rows.get_untracked();
    let mut handled = false;
    workspace.outline.update(|outline| {
        handled = tree.with_value(|tree| outline.key(tree, &rows, &pressed));
    });
    if handled {
        event.prevent_default();
        follow_focus(workspace);
    }
}

/// Moves the browser's focus to the outline's focused row, once the rows are rendered.
fn follow_focus(workspace: Workspace) {
    request_animation_frame(move || {
        let key = workspace
            .outline
            .with_untracked(|outline| key_of(outline.focus()));
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
    row: Row,
    /// All rows by their keys; position and expansion of a row may change while it is visible.
    current: Memo<BTreeMap<String, Row>>,
    values: Memo<NodeValues>,
    tree: StoredValue<Arc<Taxonomy>>,
) -> impl IntoView {
    let workspace = use_workspace();
    let node = row.node();
    let (name, id) = tree.with_value(|tree| {
        let node = tree.node(node);
        (node.names[0].clone(), node.id.clone())
    });
    let depth = row.path.len();
    let path = StoredValue::new(row.path.clone());
    let (marked_id, selected_id) = (id.clone(), id.clone());
    let marks = Memo::new(move |_| values.with(|values| values.marks(node, &marked_id)));
    let is_focused = Memo::new(move |_| {
        path.with_value(|path| workspace.outline.with(|outline| outline.focus() == path))
    });
    let is_selected = Memo::new(move |_| {
        let selected = workspace.selected;
        selected.with(|selected| selected.as_deref() == Some(selected_id.as_str()))
    });
    let key = row.key();
    let element_id = format!("row-{key}");
    let is_leaf = row.open.is_none();
    let siblings = row.siblings.to_string();
    let row = Memo::new(move |_| {
        let current = current.with(|rows| rows.get(&key).cloned());
        current.unwrap_or_else(|| row.clone())
    });
    let click = move |_| {
        expand_or_focus(workspace, path, row.with_untracked(|row| row.open));
        workspace.selected.set(Some(id.clone()));
        follow_focus(workspace);
    };
    view! {
        <li
            class="tree-row"
            class:on-path=move || marks.get().is_on_path
            class:is-stop=move || marks.get().is_stop
            class:is-leaf=is_leaf
            id=element_id
            role="treeitem"
            use:at_level=depth
            aria-posinset=move || row.with(|row| row.position.to_string())
            aria-setsize=siblings
            aria-expanded=move || row.with(|row| row.open.map(|open| open.to_string()))
            aria-selected=move || is_selected.get().to_string()
            tabindex=move || if is_focused.get() { "0" } else { "-1" }
            style=("--depth", (depth - 1).to_string())
            data-testid="tree-row"
            data-name=name
            on:click=click
        >
            {columns(name.clone(), marks, workspace)}
        </li>
    }
}

/// Handles a click on a row: moves the focus to it, expands it if it is collapsed, and collapses it
/// only if it had the focus already.
fn expand_or_focus(workspace: Workspace, path: StoredValue<Vec<NodeIx>>, open: Option<bool>) {
    workspace.outline.update(|outline| {
        path.with_value(|path| {
            if outline.focus() == path || open == Some(false) {
                outline.toggle(path);
            }
            outline.set_focus(path.clone());
        });
    });
}

/// The columns of a row: the name, the number of photos, the bar and the probability in words.
fn columns(name: String, marks: Memo<Marks>, workspace: Workspace) -> impl IntoView {
    let numbers = workspace.controller.numbers;
    let certainty = move || {
        let Marks { p, is_beyond, .. } = marks.get();
        p.map(|p| p_words(p, is_beyond, numbers))
    };
    view! {
        <span class="tree-fold" aria-hidden="true"></span>
        <span class="tree-name">{name}</span>
        <span class="tree-count">
            {move || marks.get().count.map(|n| format!("{n} photo{}", if n == 1 { "" } else { "s" }))}
        </span>
        <span class="tree-bar" aria-hidden="true" class:is-off=move || marks.get().p.is_none()>
            <span style=("--p", move || format!("{:.4}", marks.get().p.unwrap_or(0.0)))></span>
        </span>
        <span class="tree-sure">{certainty}</span>
        {move || {
            marks
                .get()
                .is_stop
                .then(|| {
                    view! { <span class="visually-hidden">", sure up to here"</span> }
                })
        }}
    }
}

/// Returns a probability as a number if numbers are switched on, else as an adverb; an improbable
/// concept gets none.
fn p_words(p: f32, beyond: bool, numbers: RwSignal<bool>) -> String {
    if numbers.get() {
        format!("{p:.3}")
    } else if p < 0.01 {
        String::new()
    } else {
        certainty(f64::from(p), beyond).to_owned()
    }
}
