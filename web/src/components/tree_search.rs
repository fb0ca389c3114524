//! Search in the tree by name, synonym or id.

use leptos::prelude::*;

use crate::state::search::{Hit, find};
use crate::workspace::use_workspace;

/// The search field and its results.
#[component]
pub fn TreeSearch() -> impl IntoView {
    let workspace = use_workspace();
    let sought = RwSignal::new(String::new());
    let hits = Memo::new(move |_| {
        let tree = workspace.shown();
        tree.map_or_else(Vec::new, |tree| sought.with(|sought| find(&tree, sought)))
    });
    let none = move || {
        let typed = sought.with(|sought| !sought.trim().is_empty());
        typed && hits.with(Vec::is_empty) && workspace.shown().is_some()
    };
    let choose = move |hit: &Hit| {
        if let Some(tree) = untrack(|| workspace.shown()) {
            workspace.select(&tree.node(hit.node).id);
            sought.set(String::new());
        }
    };
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if let Some(first) = hits.get_untracked().first() {
            choose(first);
        }
    };
    let said = move || match hits.with(Vec::len) {
        0 if none() => "No concept has this name or id.".to_owned(),
        0 => String::new(),
        1 => "One concept found.".to_owned(),
        n => format!("{n} concepts found."),
    };
    view! {
        <form class="search" role="search" on:submit=submit>
            <label class="field">
                <span class="visually-hidden">"Search the tree by name, synonym or id"</span>
                <input
                    class="input"
                    type="search"
                    placeholder="Search by name, synonym or id"
                    autocomplete="off"
                    data-testid="tree-search"
                    prop:value=sought
                    on:input:target=move |event| sought.set(event.target().value())
                />
            </label>
            <p class="note search-said" role="status" class:is-error=none>{said}</p>
            <ul class="hits" hidden=move || hits.with(Vec::is_empty) data-testid="hits">
                <For
                    each=move || hits.get()
                    key=|hit| (hit.node, hit.by.clone())
                    let(hit)
                >
                    <li>
                        <button
                            class="hit"
                            type="button"
                            on:click={
                                let hit = hit.clone();
                                move |_| choose(&hit)
                            }
                        >
                            <span>{hit.by.clone()}</span>
                            <span class="hit-above">
                                {workspace
                                    .shown()
                                    .map(|tree| {
                                        let way = tree.path_to(hit.node);
                                        let above = way.len().checked_sub(2).map(|at| way[at]);
                                        above.map(|ix| format!("in {}", tree.name(ix)))
                                    })}
                            </span>
                        </button>
                    </li>
                </For>
            </ul>
        </form>
    }
}
