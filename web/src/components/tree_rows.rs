//! The taxonomy as a tree with keyboard navigation and a bar for each concept.

use std::collections::BTreeMap;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::{Element, HtmlElement, KeyboardEvent};

use super::folder::Folder;
use crate::messages::ask::Which;
use crate::state::batch::Batch;
use crate::state::outline::{Row, key_of};
use crate::words::how_sure;
use crate::workspace::{Workspace, use_workspace};

/// Numbers and marks of the nodes; `p` is in the order of the taxonomy, `counts` is by node id.
#[derive(Clone, Default, PartialEq)]
struct Figures {
    p: Option<Vec<f32>>,
    counts: BTreeMap<String, u32>,
    stop: Option<NodeIx>,
    path: Vec<NodeIx>,
}

impl Figures {
    /// Reads the photo's place in the shown tree, and for the model's tree the counts of the folder.
    fn of(tree: &Taxonomy, workspace: Workspace, folder: Folder) -> Self {
        let which = workspace.which.get();
        let placed = workspace.placed.get().filter(|placed| placed.tree == which);
        let find = |id: &str| tree.find(id);
        Self {
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
    }

    fn p_of(&self, node: NodeIx) -> Option<f32> {
        self.p.as_ref().and_then(|p| p.get(node.index()).copied())
    }
}

/// The rows.
#[component]
pub fn Rows(
    /// The taxonomy.
    tree: Arc<Taxonomy>,
) -> impl IntoView {
    let workspace = use_workspace();
    let folder = expect_context::<Folder>();
    let of_tree = StoredValue::new(tree);
    let figures =
        Memo::new(move |_| of_tree.with_value(|tree| Figures::of(tree, workspace, folder)));
    let rows = Memo::new(move |_| {
        figures.with(|figures| {
            let weight = |ix: NodeIx| figures.p_of(ix).unwrap_or(0.0);
            of_tree.with_value(|tree| workspace.outline.with(|outline| outline.rows(tree, weight)))
        })
    });
    view! {
        <ul
            class="tree"
            role="tree"
            aria-label="Concepts, general to specific"
            data-testid="tree"
            on:keydown=move |event| press_key(workspace, of_tree, rows, &event)
        >
            <For each=move || rows.get() key=|row| (row.key(), row.open, row.place, row.siblings) let(row)>
                <TreeRow row figures of_tree />
            </For>
        </ul>
    }
}

/// Handles a key: Enter and space select the focused concept, other keys change the outline.
fn press_key(
    workspace: Workspace,
    of_tree: StoredValue<Arc<Taxonomy>>,
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

/// What a row shows of its node and of the outline; cheap to copy.
#[derive(Clone, Copy)]
struct Marks {
    p: Memo<Option<f32>>,
    count: Memo<Option<u32>>,
    on_path: Memo<bool>,
    is_stop: Memo<bool>,
    focused: Memo<bool>,
    selected: Memo<bool>,
}

impl Marks {
    /// Creates the marks of the node with this index and id, whose row is at the end of `way`.
    fn new(
        (node, id): (NodeIx, &str),
        way: StoredValue<Vec<NodeIx>>,
        figures: Memo<Figures>,
        workspace: Workspace,
    ) -> Self {
        let (counted, chosen) = (id.to_owned(), id.to_owned());
        Self {
            p: Memo::new(move |_| figures.with(|f| f.p_of(node))),
            count: Memo::new(move |_| figures.with(|f| f.counts.get(&counted).copied())),
            on_path: Memo::new(move |_| figures.with(|f| f.path.contains(&node))),
            is_stop: Memo::new(move |_| figures.with(|f| f.stop == Some(node))),
            focused: Memo::new(move |_| {
                way.with_value(|way| workspace.outline.with(|outline| outline.focus() == way))
            }),
            selected: Memo::new(move |_| {
                workspace
                    .selected
                    .with(|s| s.as_deref() == Some(chosen.as_str()))
            }),
        }
    }
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
    let node = row.node();
    let (name, id) = of_tree.with_value(|tree| {
        let node = tree.node(node);
        (node.names[0].clone(), node.id.clone())
    });
    let depth = row.way.len();
    let way = StoredValue::new(row.way.clone());
    let marks = Marks::new((node, &id), way, figures, workspace);
    let click = move |_| {
        unfold_or_focus(workspace, way, row.open);
        workspace.selected.set(Some(id.clone()));
        follow_focus(workspace);
    };
    view! {
        <li
            class="tree-row"
            class:on-path=marks.on_path
            class:is-stop=marks.is_stop
            class:is-leaf=row.open.is_none()
            id=format!("row-{}", row.key())
            role="treeitem"
            use:at_level=depth
            aria-posinset=row.place.to_string()
            aria-setsize=row.siblings.to_string()
            aria-expanded=row.open.map(|open| open.to_string())
            aria-selected=move || marks.selected.get().to_string()
            tabindex=move || if marks.focused.get() { "0" } else { "-1" }
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
fn unfold_or_focus(workspace: Workspace, way: StoredValue<Vec<NodeIx>>, open: Option<bool>) {
    workspace.outline.update(|outline| {
        way.with_value(|way| {
            if outline.focus() == way || open == Some(false) {
                outline.toggle(way);
            }
            outline.set_focus(way.clone());
        });
    });
}

/// The columns of a row: the name, the number of photos, the bar and the probability in words.
fn columns(name: String, marks: Marks, workspace: Workspace) -> impl IntoView {
    let Marks {
        p, count, is_stop, ..
    } = marks;
    let numbers = workspace.controller.numbers;
    let sure = move || p.get().map(|p| p_words(p, numbers));
    view! {
        <span class="tree-fold" aria-hidden="true"></span>
        <span class="tree-name">{name}</span>
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
    }
}

/// Returns a probability as a number if numbers are switched on, else as an adverb; an improbable
/// concept gets none.
fn p_words(p: f32, numbers: RwSignal<bool>) -> String {
    if numbers.get() {
        format!("{p:.3}")
    } else if p < 0.01 {
        String::new()
    } else {
        how_sure(f64::from(p)).to_owned()
    }
}
