//! Search in the tree by name, synonym or id.

use leptos::prelude::*;

use crate::state::search::{Hit, closest, find, find_noun};
use crate::workspace::{Workspace, use_workspace};

/// The search field and its results.
#[component]
pub fn TreeSearch() -> impl IntoView {
    let search = Search::new(use_workspace());
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        if let Some(first) = untrack(|| search.hits()).first() {
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
            <p class="note search-said" role="status">
                {move || search.in_words()}
            </p>
            <ul class="hits" hidden=move || search.found.with(|found| found.hits.is_empty()) data-testid="hits">
                <For
                    each=move || search.hits()
                    key=|hit| (hit.node, hit.by.clone())
                    let(hit)
                >
                    {line(search, hit)}
                </For>
            </ul>
        </form>
    }
}

/// One hit: the text that matches, and the name of its parent or of the concept itself.
fn line(search: Search, hit: Hit) -> impl IntoView {
    let tree = search.workspace.shown();
    let place = tree.map(|tree| {
        let name = tree.name(hit.node);
        if hit.by.to_lowercase() == search.typed() && !tree.node(hit.node).names.contains(&hit.by) {
            return Some(format!("see {name}"));
        }
        let path = tree.path_to(hit.node);
        let parent = path.len().checked_sub(2).map(|index| path[index]);
        parent.map(|ix| format!("in {}", tree.name(ix)))
    });
    let text = hit.by.clone();
    view! {
        <li>
            <button class="hit" type="button" on:click=move |_| search.choose(&hit)>
                <span>{text}</span>
                <span class="hit-above">{place}</span>
            </button>
        </li>
    }
}

/// The concepts for the typed text.
#[derive(Clone, Default, PartialEq)]
struct Found {
    hits: Vec<Hit>,
    /// Whether nothing matches, so that these are only the closest names.
    is_near_miss: bool,
}

/// The typed text and its hits; cheap to copy.
#[derive(Clone, Copy)]
struct Search {
    workspace: Workspace,
    query: RwSignal<String>,
    found: Memo<Found>,
}

/// Minimum length of a text for which closest names are offered: shorter ones are close to many.
const MIN_NEAR_MISS: usize = 3;

impl Search {
    fn new(workspace: Workspace) -> Self {
        let query = RwSignal::new(String::new());
        let found = Memo::new(move |_| {
            let Some(tree) = workspace.shown() else {
                return Found::default();
            };
            let text = query.get();
            let mut hits = find(&tree, &text);
            if hits.is_empty() {
                hits = workspace.nouns.with(|nouns| find_noun(&tree, nouns, &text));
            }
            let is_near_miss = hits.is_empty() && text.trim().chars().count() >= MIN_NEAR_MISS;
            if is_near_miss {
                hits = closest(&tree, &text);
            }
            Found { hits, is_near_miss }
        });
        // Everyday words are looked up in a list that is fetched when it is first needed.
        Effect::new(move |_| {
            if found.with(|found| found.is_near_miss) {
                workspace.load_nouns();
            }
        });
        Self {
            workspace,
            query,
            found,
        }
    }

    fn hits(self) -> Vec<Hit> {
        self.found.with(|found| found.hits.clone())
    }

    fn typed(self) -> String {
        self.query.with(|query| query.trim().to_lowercase())
    }

    /// Describes the number of hits; empty if nothing was typed.
    fn in_words(self) -> String {
        let typed = self.typed();
        self.found.with(|found| match found.hits.len() {
            0 if typed.is_empty() => String::new(),
            0 => "Nothing found yet. Type a little more.".to_owned(),
            _ if found.is_near_miss => {
                format!("Nothing is called “{typed}”. The closest names are:")
            }
            1 => "One concept found.".to_owned(),
            n => format!("{n} concepts found."),
        })
    }

    /// Selects the node of a hit and empties the field.
    fn choose(self, hit: &Hit) {
        if let Some(tree) = untrack(|| self.workspace.shown()) {
            self.workspace.select(&tree.node(hit.node).id);
            self.query.set(String::new());
        }
    }
}
