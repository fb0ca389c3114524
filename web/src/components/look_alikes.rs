//! Example photos of what the answer says and of what it might be instead.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use espalier_core::taxonomy::{NodeIx, Taxonomy};
use leptos::prelude::*;
use serde::Deserialize;
use wasm_bindgen_futures::spawn_local;

use crate::load::fetch::fetch_small;
use crate::messages::query::{Place, TreeSource};
use crate::state::examples::Examples;
use crate::ui_error::UiError;
use crate::words::certainty;
use crate::workspace::{PlacedPhoto, Workspace, use_workspace};

/// The list of example photos, one a label.
const LIST: &str = "examples/credits.json";

/// Who made an example photo, and the address of the whole photo.
#[derive(Deserialize)]
struct Credit {
    author: String,
    url: String,
}

/// Licence of all example photos.
const LICENCE: &str = "https://creativecommons.org/licenses/by/2.0/";

/// The labels that have an example photo.
type Credits = Rc<HashMap<String, Credit>>;

/// What the section shows; cheap to copy.
#[derive(Clone, Copy)]
struct LookAlikes {
    workspace: Workspace,
    is_open: RwSignal<bool>,
    credits: RwSignal<Option<Result<Credits, UiError>>, LocalStorage>,
}

impl LookAlikes {
    fn open(self) {
        self.is_open.set(true);
        let is_loaded = |credits: &Option<Result<_, _>>| matches!(credits, Some(Ok(_)));
        if self.credits.with_untracked(is_loaded) {
            return;
        }
        let base = self.workspace.controller.base();
        spawn_local(async move {
            let list = fetch_small(&format!("{base}{LIST}"), LIST).await;
            let credits = list.and_then(|list| {
                serde_json::from_slice(&list)
                    .map_err(|error| UiError::in_file(LIST, error.to_string()))
            });
            self.credits.set(Some(credits.map(Rc::new)));
        });
    }

    /// Returns the photo's place in the model's own tree, which the example photos belong to.
    fn placed(self) -> Option<(Arc<Taxonomy>, Arc<PlacedPhoto>)> {
        let placed = self.workspace.placed.get()?;
        let tree = self.workspace.tree.with(|tree| tree.clone()?.ok())?;
        (placed.tree == TreeSource::Bundle).then_some((tree, placed))
    }
}

/// The button that fetches the examples, and the examples.
#[component]
pub fn LookAlikesView() -> impl IntoView {
    let look_alikes = LookAlikes {
        workspace: use_workspace(),
        is_open: RwSignal::new(false),
        credits: RwSignal::new_local(None),
    };
    let is_open = look_alikes.is_open;
    let switch = move |_| {
        if is_open.get_untracked() {
            is_open.set(false);
        } else {
            look_alikes.open();
        }
    };
    view! {
        <Show when=move || look_alikes.placed().is_some()>
            <section class="look-alikes" aria-label="Look-alikes">
                <button
                    class="button is-quiet"
                    type="button"
                    aria-expanded=move || is_open.get().to_string()
                    data-testid="look-alikes"
                    on:click=switch
                >
                    {move || if is_open.get() { "Hide look-alikes" } else { "Compare with look-alikes" }}
                </button>
                <Show when=move || is_open.get()>{shown(look_alikes)}</Show>
            </section>
        </Show>
    }
}

/// The examples, or why there are none.
fn shown(look_alikes: LookAlikes) -> impl IntoView {
    move || {
        let note = |text: String| view! { <p class="note" role="status">{text}</p> }.into_any();
        let credits = match look_alikes.credits.get() {
            None => return note("Fetching small photos…".to_owned()),
            Some(Err(error)) => return note(format!("{} {}", error.what, error.todo)),
            Some(Ok(credits)) => credits,
        };
        let Some((tree, placed)) = look_alikes.placed() else {
            return ().into_any();
        };
        let has = |id: &str| credits.contains_key(id);
        let Examples {
            answer,
            alternatives,
        } = Examples::choose(&tree, &placed.place.p, &placed.place.path.stop, has);
        let base = look_alikes.workspace.controller.base();
        let figure = |ix: NodeIx| figure(&tree, ix, &placed.place, &base, &credits);
        let answer = answer.map(|ix| {
            view! {
                <h3 class="ladder-title">"What it may be"</h3>
                <ul class="examples" data-testid="example-answer">{figure(ix)}</ul>
            }
        });
        let others = alternatives.into_iter().map(figure).collect_view();
        view! {
            <div class="examples-of" role="status">
                {answer}
                <h3 class="ladder-title">"What it might be instead"</h3>
                <ul class="examples" data-testid="example-others">{others}</ul>
                <p class="note">
                    "Photos under " <a href=LICENCE>"CC BY 2.0"</a> ", cut and made smaller."
                </p>
            </div>
        }
        .into_any()
    }
}

/// The example photo of a label, with its name, its probability in words and its author.
fn figure(
    tree: &Taxonomy,
    ix: NodeIx,
    place: &Place,
    base: &str,
    credits: &HashMap<String, Credit>,
) -> impl IntoView + use<> {
    let id = &tree.node(ix).id;
    let name = tree.name(ix).to_owned();
    let p = place.p.get(ix.index()).map_or(0.0, |p| f64::from(*p));
    let sure = certainty(p, *id != place.path.stop);
    let credit = credits.get(id).map(|credit| {
        let author = format!("by {}", credit.author);
        view! { <a class="example-by" href=credit.url.clone()>{author}</a> }
    });
    view! {
        <li class="example">
            <img
                src=format!("{base}examples/{id}.webp")
                alt=format!("Example: {name}")
                width="128"
                height="128"
                loading="lazy"
            />
            <span class="example-name">{name}</span>
            <span class="example-p">{sure}</span>
            {credit}
        </li>
    }
}
