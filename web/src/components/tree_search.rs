//! Search in the tree by name, synonym or id.

use leptos::prelude::*;

use crate::state::search::{Hit, find};
use crate::workspace::{Workspace, use_workspace};

/// The search field and its results.
#[component]
pub fn TreeSearch() -> impl IntoView {
    let search = Search::new(use_workspace());
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if let Some(first) = search.hits.get_untracked().first() {
            search.choose(first);
        }
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
                    prop:value=search.query
                    on:input:target=move |event| search.query.set(event.target().value())
                />
            </label>
            <p class="note search-said" role="status" class:is-error=move || search.has_no_match()>
                {move || search.in_words()}
            </p>
            <ul class="hits" hidden=move || search.hits.with(Vec::is_empty) data-testid="hits">
                <For
                    each=move || search.hits.get()
                    key=|hit| (hit.node, hit.by.clone())
                    let(hit)
                >
                    {line(search, hit)}
                </For>
            </ul>
        </form>
    }
}

/// One hit: the text that matches, and the name of its parent.
fn line(search: Search, hit: Hit) -> impl IntoView {
    view! {
        <li>
            <button
                class="hit"
                type="button"
                on:click={
                    let hit = hit.clone();
                    move |_| search.choose(&hit)
                }
            >
                <span>{hit.by.clone()}</span>
                <span class="hit-above">
                    {search
                        .workspace
                        .shown()
                        .map(|tree| {
                            let path = tree.path_to(hit.node);
                            let parent = path.len().checked_sub(2).map(|index| path[index]);
                            parent.map(|ix| format!("in {}", tree.name(ix)))
                        })}
                </span>
            </button>
        </li>
    }
}

/// The typed text and its hits; cheap to copy.
#[derive(Clone, Copy)]
struct Search {
    workspace: Workspace,
    query: RwSignal<String>,
    hits: Memo<Vec<Hit>>,
}

impl Search {
    fn new(workspace: Workspace) -> Self {
        let query = RwSignal::new(String::new());
        let hits = Memo::new(move |_| {
            let tree = workspace.shown();
            tree.map_or_else(Vec::new, |tree| query.with(|query| find(&tree, query)))
        });
        Self {
            workspace,
            query,
            hits,
        }
    }

    /// Returns whether a text was typed and nothing was found.
    fn has_no_match(self) -> bool {
        let typed = self.query.with(|query| !query.trim().is_empty());
        typed && self.hits.with(Vec::is_empty) && self.workspace.shown().is_some()
    }

    /// Describes the number of hits; empty if nothing was typed.
    fn in_words(self) -> String {
        match self.hits.with(Vec::len) {
            0 if self.has_no_match() => "No concept has this name or id.".to_owned(),
            0 => String::new(),
            1 => "One concept found.".to_owned(),
            n => format!("{n} concepts found."),
        }
    }

    /// Selects the node of a hit and empties the field.
    fn choose(self, hit: &Hit) {
        if let Some(tree) = untrack(|| self.workspace.shown()) {
            self.workspace.select(&tree.node(hit.node).id);
            self.query.set(String::new());
        }
    }
}
