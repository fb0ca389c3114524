//! "Why not …?": compares any phrase with the photo, through the text encoder.

use std::rc::Rc;

use espalier_core::caption::Verdict;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::load::progress::in_megabytes;
use crate::messages::ask::{Ask, AskAnswer};
use crate::ui_error::UiError;
use crate::words::verdict_sentences;
use crate::workspace::use_workspace;

/// A phrase and its verdict.
#[derive(Clone, PartialEq)]
struct Asked {
    phrase: String,
    verdict: Verdict,
    said: Vec<String>,
}

/// The input field and its answer.
#[component]
pub fn WhyNot() -> impl IntoView {
    let workspace = use_workspace();
    let controller = workspace.controller;
    let phrase = RwSignal::new(String::new());
    let busy = RwSignal::new(None::<(u64, u64)>);
    let asked = RwSignal::new(None::<Result<Asked, UiError>>);
    let fetched = RwSignal::new(false);
    // A verdict applies to one photo only.
    let photo = Memo::new(move |_| workspace.answer().map(|answer| answer.photo));
    Effect::new(move |_| {
        let _ = photo.get();
        asked.set(None);
    });
    let size = move || controller.session.with(|session| session.plan.text);
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        let text = phrase.get_untracked().trim().to_owned();
        let Some(photo) = photo.get_untracked().filter(|_| !text.is_empty()) else {
            return;
        };
        if busy.get_untracked().is_some() {
            return;
        }
        busy.set(Some((0, 0)));
        spawn_local(async move {
            let tree = workspace.which.get_untracked();
            let ask = Ask::WhyNot {
                photo,
                tree,
                phrase: text,
            };
            let report = Rc::new(move |loaded, total| busy.set(Some((loaded, total))));
            let told = controller.ask(ask, None, report).await;
            busy.set(None);
            asked.set(Some(told.and_then(|told| {
                let AskAnswer::WhyNot { phrase, verdict } = told else {
                    return Err(UiError::mixed_versions("another answer than was asked for"));
                };
                fetched.set(true);
                let tree = untrack(|| workspace.shown());
                let tree = tree.as_deref();
                let find = |id: &str| tree.and_then(|t| t.find(id).map(|ix| (t, ix)));
                let name = |id| find(id).map_or(id, |(t, ix)| t.name(ix));
                let is_informative = find(&verdict.common).is_none_or(|(t, ix)| t.is_nameable(ix));
                let common = is_informative.then(|| name(&verdict.common));
                let said = verdict_sentences(&phrase, &verdict, (name(&verdict.concept), common));
                Ok(Asked {
                    phrase,
                    verdict,
                    said,
                })
            })));
        });
    };
    let label = move || match (fetched.get(), size()) {
        (true, _) | (_, 0) => "Ask".to_owned(),
        (false, bytes) => format!("Ask (fetches {} once)", in_megabytes(bytes)),
    };
    view! {
        <section class="sheet" aria-labelledby="why-title" data-testid="why-panel">
            <div class="sheet-head">
                <h2 id="why-title">"Why not …?"</h2>
            </div>
            <form class="field-row" on:submit=submit>
                <label class="field">
                    <span class="field-name">"A word or a phrase that you expected"</span>
                    <input
                        class="input"
                        type="text"
                        maxlength="200"
                        placeholder="a sleeping cat"
                        data-testid="why-input"
                        prop:value=phrase
                        on:input:target=move |event| phrase.set(event.target().value())
                    />
                </label>
                <button
                    class="button"
                    type="submit"
                    data-testid="why-ask"
                    disabled=move || photo.get().is_none() || busy.get().is_some()
                >
                    {label}
                </button>
            </form>
            <div role="status" data-testid="why-said">
                {move || {
                    busy.get()
                        .map(|(loaded, total)| {
                            let words = if total == 0 {
                                "Asking…".to_owned()
                            } else {
                                format!(
                                    "Fetching the part that reads words: {} of {}",
                                    in_megabytes(loaded),
                                    in_megabytes(total),
                                )
                            };
                            view! { <p class="note">{words}</p> }
                        })
                }}
                {move || match asked.get() {
                    None => ().into_any(),
                    Some(Err(error)) => {
                        view! { <p class="note is-error">{error.what} " " {error.todo}</p> }.into_any()
                    }
                    Some(Ok(asked)) => view! { <Verdicts asked /> }.into_any(),
                }}
            </div>
        </section>
    }
}

/// The answer as sentences, with its numbers if they are switched on.
#[component]
fn Verdicts(
    /// The phrase and its verdict.
    asked: Asked,
) -> impl IntoView {
    let workspace = use_workspace();
    let verdict = asked.verdict.clone();
    let concept = verdict.concept.clone();
    let cone = verdict
        .cone
        .map(|cone| format!(" · angle {:.3}, aperture {:.3}", cone.angle, cone.aperture));
    let numbers = format!(
        "similarity {:.3} · radius {:.3} · p {:.3}{}",
        verdict.similarity,
        verdict.radius,
        verdict.p,
        cone.unwrap_or_default()
    );
    let lines = asked
        .said
        .into_iter()
        .map(|line| view! { <li>{line}</li> })
        .collect_view();
    view! {
        <ul class="verdict" data-testid="verdict" data-phrase=asked.phrase>{lines}</ul>
        <Show when=move || workspace.controller.numbers.get()>
            <p class="rung-numbers">{numbers.clone()}</p>
        </Show>
        <button class="linkish" type="button" on:click=move |_| workspace.select(&concept)>
            "Show it in the tree"
        </button>
    }
}
