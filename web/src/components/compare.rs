//! Other models on the same photo, side by side: `?model=a,b`. Each has its own worker.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::ladder::Ladder;
use crate::controller::AppController;
use crate::load::fetch::fetch_small;
use crate::load::progress::format_part;
use crate::load::{DEFAULT_MODEL, SMALL_MODEL};
use crate::messages::query::PhotoId;
use crate::state::dial::Dial;
use crate::state::link::Link;
use crate::state::models::Comparison;
use crate::state::session::{Engine, Work};
use crate::words::answer_sentence;
use crate::workspace::{Workspace, use_workspace};

/// Name of the list of models that the build writes.
const MODELS: &str = "models.json";

/// Offers the other models installed with the page, if there are any, and shows the ladders of those that the address
/// names.
#[component]
pub fn Compare() -> impl IntoView {
    let workspace = use_workspace();
    let names = installed(workspace);
    let link = workspace.link.get_value();
    let first = workspace.controller.model();
    let chosen = RwSignal::new(if link.models.is_empty() {
        vec![first]
    } else {
        link.models
    });
    // The address determines the displayed models; a choice has no effect until its link is opened.
    let shown = chosen.get_untracked();
    let comparison = Memo::new(move |_| names.with(|names| Comparison::of(names, &shown)));
    view! {
        {move || match comparison.get() {
            Comparison::None => ().into_any(),
            Comparison::Both => view! { <BothModels /> }.into_any(),
            Comparison::Choice => choice(workspace, names, chosen).into_any(),
        }}
        <Others />
    }
}

/// Fetches the names of the installed models; the list is empty until they are here.
fn installed(workspace: Workspace) -> RwSignal<Vec<String>> {
    let names = RwSignal::new(Vec::new());
    let base = workspace.controller.base();
    spawn_local(async move {
        if let Ok(list) = fetch_small(&format!("{base}{MODELS}"), MODELS).await {
            names.set(serde_json::from_slice(&list).unwrap_or_default());
        }
    });
    names
}

/// A checkbox for each model, and the link to a new page whose address holds the choice.
fn choice(
    workspace: Workspace,
    names: RwSignal<Vec<String>>,
    chosen: RwSignal<Vec<String>>,
) -> impl IntoView {
    let address = move || {
        workspace.address(&Link {
            models: chosen.get(),
            ..workspace.link()
        })
    };
    let boxes = move || {
        let to_checkbox = |name| checkbox(name, chosen);
        names.get().into_iter().map(to_checkbox).collect_view()
    };
    view! {
        <fieldset class="picker" data-testid="picker">
            <legend>"Compare models, side by side"</legend>
            {boxes}
            <a class="button is-quiet is-small" href=address data-testid="picker-go">
                "Show these"
            </a>
        </fieldset>
    }
}

/// The checkbox of one model; a chosen one goes to the end of the list.
fn checkbox(name: String, chosen: RwSignal<Vec<String>>) -> impl IntoView {
    let (read_name, changed_name) = (name.clone(), name.clone());
    view! {
        <label class="pick">
            <input
                type="checkbox"
                prop:checked=move || chosen.with(|chosen| chosen.contains(&read_name))
                on:change:target=move |event| {
                    let on = event.target().checked();
                    chosen.update(|chosen| {
                        chosen.retain(|name| *name != changed_name);
                        if on {
                            chosen.push(changed_name.clone());
                        }
                    });
                }
            />
            <span>{name}</span>
        </label>
    }
}

/// A link to this page with the default model and the small one. It reloads the page, so visitors
/// have to give their own photo again; a sample is part of the address.
#[component]
fn BothModels() -> impl IntoView {
    let workspace = use_workspace();
    let address = move || {
        let here = workspace.link();
        workspace.address(&Link {
            backend: here.backend,
            models: vec![DEFAULT_MODEL.to_owned(), SMALL_MODEL.to_owned()],
            sample: here.sample,
            ..Link::default()
        })
    };
    let is_own_photo = move || {
        let photo = workspace.controller.photo.get();
        photo.is_some_and(|photo| photo.sample.is_none())
    };
    view! {
        <p class="picker" data-testid="models">
            <span class="note">
                "A small model is here too, for comparison."
            </span>
            <a class="button is-quiet is-small" href=address data-testid="both-models">
                "See both models side by side"
            </a>
            <Show when=is_own_photo>
                <span class="note">"The page reloads. Please choose your photo again."</span>
            </Show>
        </p>
    }
}

/// The ladders of the other models.
#[component]
fn Others() -> impl IntoView {
    let workspace = use_workspace();
    let base = workspace.controller.base();
    let link = workspace.link.get_value();
    let others: Vec<AppController> = link
        .models
        .iter()
        .skip(1)
        .map(|model| AppController::new(base.clone(), model.clone(), link.backend))
        .collect();
    if others.is_empty() {
        return ().into_any();
    }
    let first = workspace.controller.model();
    let columns = others
        .into_iter()
        .map(|controller| view! { <Column controller /> })
        .collect_view();
    view! {
        <section class="sheet" aria-labelledby="compare-title" data-testid="compare">
            <div class="sheet-head">
                <h2 id="compare-title">"Other models on this photo"</h2>
                <p class="note">{format!("beside “{first}”, above")}</p>
            </div>
            <div class="compare">{columns}</div>
        </section>
    }
    .into_any()
}

/// One other model.
#[component]
fn Column(controller: AppController) -> impl IntoView {
    let workspace = use_workspace();
    // Takes the photo only after the page's own model has read it, so that two engines do not fetch
    // and compute at once.
    let answered = Memo::new(move |_| workspace.answer().map(|answer| answer.photo));
    Effect::new(move |before: Option<Option<PhotoId>>| {
        let now = answered.get();
        if now.is_some()
            && before != Some(now)
            && let Some(photo) = workspace.controller.photo.get_untracked()
        {
            spawn_local(async move { controller.set_photo(Ok((photo.file.clone(), None))) });
        }
        now
    });
    let model = controller.model();
    let content = move || {
        controller
            .session
            .with(|session| match (&session.engine, &session.work) {
                (_, Work::Done(answer)) => Ok(Arc::clone(answer)),
                (_, Work::Failed { error, .. }) | (Engine::Failed(error), _) => {
                    Err(error.what.clone())
                }
                (Engine::Loading { bar, .. }, _) => Err(match bar.total() {
                    Some(total) => format_part(bar.loaded(), total),
                    None => "Loading…".to_owned(),
                }),
                (_, Work::None) => Err("Waiting for a photo.".to_owned()),
                _ => Err("Reading…".to_owned()),
            })
    };
    view! {
        <div class="compare-column" data-testid="compare-column" data-model=model.clone()>
            <h3>{model.clone()}</h3>
            {move || match content() {
                Err(words) => view! { <p class="note" role="status">{words}</p> }.into_any(),
                Ok(answer) => {
                    let taxonomy = &answer.result.taxonomy;
                    let answer_sentence = answer_sentence(&answer.result, &Dial::of(taxonomy, None));
                    view! {
                        <p class="part-sentence">{answer_sentence}</p>
                        <Ladder result=answer.result.clone() part=true />
                    }
                    .into_any()
                }
            }}
        </div>
    }
}
