//! Other models on the same photo, side by side: `?model=a,b`. Each has a worker of its own.

use std::sync::Arc;

use gloo_net::http::Request;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use super::ladder::Ladder;
use crate::bench::use_bench;
use crate::load::progress::in_megabytes;
use crate::load::{DEFAULT_MODEL, SMALL_MODEL};
use crate::messages::photo_id::PhotoId;
use crate::shell::Shell;
use crate::state::cut::Dial;
use crate::state::link::Link;
use crate::state::models::Comparison;
use crate::state::session::{Engine, Work};
use crate::words::sentence;

/// Name of the list of models that the build writes.
const MODELS: &str = "models.json";

/// Offers the other models installed beside the page; empty if there are none.
#[component]
fn Picker() -> impl IntoView {
    let bench = use_bench();
    let names = RwSignal::new(Vec::<String>::new());
    let (base, _) = bench.shell.addresses();
    spawn_local(async move {
        let response = Request::get(&format!("{base}{MODELS}")).send().await;
        if let Ok(response) = response
            && let Ok(text) = response.text().await
        {
            names.set(serde_json::from_str(&text).unwrap_or_default());
        }
    });
    let link = bench.link.get_value();
    let first = bench.shell.model();
    let chosen = RwSignal::new(if link.models.is_empty() {
        vec![first]
    } else {
        link.models
    });
    // Opens a new page, whose address holds the choice.
    let address = move || {
        let (base, _) = bench.shell.addresses();
        let link = Link {
            models: chosen.get(),
            ..bench.link()
        };
        format!("{base}{}", link.to_query())
    };
    let offered = move |name: String| {
        let (is_on, other) = (name.clone(), name.clone());
        view! {
            <label class="pick">
                <input
                    type="checkbox"
                    prop:checked=move || chosen.with(|chosen| chosen.contains(&is_on))
                    on:change:target=move |event| {
                        let on = event.target().checked();
                        chosen.update(|chosen| {
                            chosen.retain(|name| *name != other);
                            if on {
                                chosen.push(other.clone());
                            }
                        });
                    }
                />
                <span>{name}</span>
            </label>
        }
    };
    // The address determines the displayed models; a choice has no effect until its link is opened.
    let shown = chosen.get_untracked();
    let comparison = Memo::new(move |_| names.with(|names| Comparison::of(names, &shown)));
    view! {
        {move || match comparison.get() {
            Comparison::None => ().into_any(),
            Comparison::Both => view! { <BothModels /> }.into_any(),
            Comparison::Choice => {
                view! {
                    <fieldset class="picker" data-testid="picker">
                        <legend>"Compare models, side by side"</legend>
                        {move || names.get().into_iter().map(offered).collect_view()}
                        <a class="button is-quiet is-small" href=address data-testid="picker-go">
                            "Show these"
                        </a>
                    </fieldset>
                }
                    .into_any()
            }
        }}
    }
}

/// A link to this page with the default model and the small one. It reloads the page, so visitors
/// have to give their own photo again; a sample is part of the address.
#[component]
fn BothModels() -> impl IntoView {
    let bench = use_bench();
    let (base, _) = bench.shell.addresses();
    let address = move || {
        let here = bench.link();
        let link = Link {
            backend: here.backend,
            models: vec![DEFAULT_MODEL.to_owned(), SMALL_MODEL.to_owned()],
            sample: here.sample,
            ..Link::default()
        };
        format!("{base}{}", link.to_query())
    };
    let own = move || {
        let photo = bench.shell.photo.get();
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
            <Show when=own>
                <span class="note">"The page opens anew: please give it your photo again."</span>
            </Show>
        </p>
    }
}

/// The ladders of the other models that the address names, and a choice among all models.
#[component]
pub fn Compare() -> impl IntoView {
    view! {
        <Picker />
        <Others />
    }
}

/// The ladders of the other models.
#[component]
fn Others() -> impl IntoView {
    let bench = use_bench();
    let (base, _) = bench.shell.addresses();
    let link = bench.link.get_value();
    let others: Vec<Shell> = link
        .models
        .iter()
        .skip(1)
        .map(|model| Shell::new(base.clone(), model.clone(), link.backend))
        .collect();
    if others.is_empty() {
        return ().into_any();
    }
    let first = bench.shell.model();
    let columns = others
        .into_iter()
        .map(|shell| view! { <Column shell /> })
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
fn Column(
    /// Its shell.
    shell: Shell,
) -> impl IntoView {
    let bench = use_bench();
    // Takes the photo only after the page's own model has read it, so that two engines do not fetch
    // and compute at once.
    let read = Memo::new(move |_| bench.answer().map(|answer| answer.photo));
    Effect::new(move |before: Option<Option<PhotoId>>| {
        let now = read.get();
        if now.is_some() && before != Some(now) {
            give(bench.shell, shell);
        }
        now
    });
    let model = shell.model();
    let shows = move || {
        shell
            .session
            .with(|session| match (&session.engine, &session.work) {
                (_, Work::Done(answer)) => Ok(Arc::clone(answer)),
                (_, Work::Failed { error, .. }) | (Engine::Failed(error), _) => {
                    Err(error.what.clone())
                }
                (Engine::Loading { bar, .. }, _) => Err(match bar.total() {
                    Some(total) => {
                        format!("{} of {}", in_megabytes(bar.loaded()), in_megabytes(total))
                    }
                    None => "Loading…".to_owned(),
                }),
                (_, Work::None) => Err("Waits for a photo.".to_owned()),
                _ => Err("Reading…".to_owned()),
            })
    };
    view! {
        <div class="compare-column" data-testid="compare-column" data-model=model.clone()>
            <h3>{model.clone()}</h3>
            {move || match shows() {
                Err(words) => view! { <p class="note" role="status">{words}</p> }.into_any(),
                Ok(answer) => {
                    let taxonomy = &answer.result.taxonomy;
                    let said = sentence(taxonomy, &Dial::of(taxonomy, None), None);
                    view! {
                        <p class="part-sentence">{said}</p>
                        <Ladder result=answer.result.clone() part=true />
                    }
                    .into_any()
                }
            }}
        </div>
    }
}

fn give(from: Shell, to: Shell) {
    let Some(photo) = from.photo.get_untracked() else {
        return;
    };
    spawn_local(async move {
        let file: File = photo.file().clone();
        to.give(Ok((file, None)));
    });
}
