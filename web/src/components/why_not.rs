//! "Why not …?": compares any phrase with the photo, through the text encoder.

use espalier_core::caption::{PlacedBy, Verdict};
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::heat::Heat;
use crate::load::progress::{format_bytes, format_part};
use crate::messages::query::{PhotoId, Query, QueryAnswer};
use crate::ui_error::UiError;
use crate::words::{part_sentences, verdict_sentences};
use crate::workspace::{Workspace, use_workspace};

/// A phrase and its verdict.
#[derive(Clone, PartialEq)]
struct Explanation {
    phrase: String,
    verdict: Verdict,
    sentences: Vec<String>,
}

/// The input field and its answer.
#[component]
pub fn WhyNot() -> impl IntoView {
    let form = PhraseForm::new(use_workspace());
    // A verdict applies to one photo only.
    Effect::new(move |_| {
        let _ = form.photo.get();
        form.explanation.set(None);
    });
    view! {
        <section class="sheet" aria-labelledby="why-title" data-testid="why-panel">
            <div class="sheet-head">
                <h2 id="why-title">"Why not …?"</h2>
            </div>
            {phrase_field(form)}
            <div role="status" data-testid="why-said">
                {move || {
                    form
                        .busy
                        .get()
                        .map(|(loaded, total)| {
                            view! { <p class="note">{progress_words(loaded, total)}</p> }
                        })
                }}
                {move || match form.explanation.get() {
                    None => ().into_any(),
                    Some(Err(error)) => {
                        view! { <p class="note is-error">{error.what} " " {error.todo}</p> }.into_any()
                    }
                    Some(Ok(explanation)) => view! { <Verdicts explanation /> }.into_any(),
                }}
            </div>
        </section>
    }
}

/// The field for the phrase and the button that sends it.
fn phrase_field(form: PhraseForm) -> impl IntoView {
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        form.send();
    };
    view! {
        <form class="field-row" on:submit=submit>
            <label class="field">
                <span class="field-name">"What did you expect?"</span>
                <input
                    class="input"
                    type="text"
                    maxlength="200"
                    placeholder="a sleeping cat"
                    data-testid="why-input"
                    prop:value=form.phrase
                    on:input:target=move |event| form.phrase.set(event.target().value())
                />
            </label>
            <button
                class="button"
                type="submit"
                data-testid="why-ask"
                disabled=move || form.photo.get().is_none() || form.busy.get().is_some()
            >
                {move || form.button_words()}
            </button>
        </form>
    }
}

/// Says what is done while the answer is pending.
fn progress_words(loaded: u64, total: u64) -> String {
    if total == 0 {
        return "Working…".to_owned();
    }
    let part = format_part(loaded, total);
    format!("Downloading the part that reads words: {part}")
}

/// The typed phrase and its answer; cheap to copy.
#[derive(Clone, Copy)]
struct PhraseForm {
    workspace: Workspace,
    phrase: RwSignal<String>,
    /// Progress while the answer is pending, as loaded and total.
    busy: RwSignal<Option<(u64, u64)>>,
    explanation: RwSignal<Option<Result<Explanation, UiError>>>,
    /// Whether the text encoder has been fetched.
    fetched: RwSignal<bool>,
    /// The photo that the phrase is compared with.
    photo: Memo<Option<PhotoId>>,
}

impl PhraseForm {
    fn new(workspace: Workspace) -> Self {
        Self {
            workspace,
            phrase: RwSignal::new(String::new()),
            busy: RwSignal::new(None),
            explanation: RwSignal::new(None),
            fetched: RwSignal::new(false),
            photo: Memo::new(move |_| workspace.answer().map(|answer| answer.photo)),
        }
    }

    /// Returns the text of the button. It names the size of the text encoder while that has to be
    /// fetched.
    fn button_words(self) -> String {
        let session = self.workspace.controller.session;
        let size = || session.with(|session| session.sizes.text);
        match (self.fetched.get(), size()) {
            (true, _) | (_, 0) => "Ask".to_owned(),
            (false, bytes) => format!("Ask (downloads {} once)", format_bytes(bytes)),
        }
    }

    /// Asks the engine, unless the phrase is empty, there is no photo or an answer is pending.
    fn send(self) {
        let text = self.phrase.get_untracked().trim().to_owned();
        let Some(photo) = self.photo.get_untracked().filter(|_| !text.is_empty()) else {
            return;
        };
        if self.busy.get_untracked().is_some() {
            return;
        }
        self.busy.set(Some((0, 0)));
        spawn_local(async move {
            let tree = self.workspace.tree_source.get_untracked();
            let query = Query::WhyNot {
                photo,
                tree,
                phrase: text,
            };
            let controller = self.workspace.controller;
            let answer = controller.ask(query, None, Some(self.busy)).await;
            self.busy.set(None);
            self.explanation
                .set(Some(answer.and_then(|answer| self.explanation_of(answer))));
        });
    }

    /// Describes the engine's answer with the names of the shown tree.
    fn explanation_of(self, answer: QueryAnswer) -> Result<Explanation, UiError> {
        let QueryAnswer::WhyNot {
            phrase,
            verdict,
            parts,
        } = answer
        else {
            return Err(UiError::other_answer());
        };
        self.fetched.set(true);
        let tree = untrack(|| self.workspace.shown());
        let tree = tree.as_deref();
        let find = |id: &str| tree.and_then(|t| t.find(id).map(|ix| (t, ix)));
        let name = |id| find(id).map_or(id, |(t, ix)| t.name(ix));
        let is_informative = find(&verdict.common).is_none_or(|(t, ix)| t.is_nameable(ix));
        let common = is_informative.then(|| name(&verdict.common));
        // The detectors know things that the tree has no name for, such as a woman or a beach.
        let sentences = match verdict.by == PlacedBy::Name || parts.is_empty() {
            true => verdict_sentences(&phrase, &verdict, (name(&verdict.concept), common)),
            false => part_sentences(&parts),
        };
        Ok(Explanation {
            phrase,
            verdict,
            sentences,
        })
    }
}

/// Shows where a phrase is seen in the photo, and scrolls to it.
fn show_where(heat: Heat, phrase: &str) {
    heat.show(phrase);
    if let Ok(Some(photo)) = document().query_selector(".photo") {
        photo.scroll_into_view();
    }
}

/// The answer as sentences, with its numbers if they are switched on.
#[component]
fn Verdicts(explanation: Explanation) -> impl IntoView {
    let workspace = use_workspace();
    let verdict = explanation.verdict.clone();
    let concept = verdict.concept.clone();
    let heat = expect_context::<Heat>();
    let phrase = explanation.phrase.clone();
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
    let lines = explanation
        .sentences
        .into_iter()
        .map(|line| view! { <li>{line}</li> })
        .collect_view();
    view! {
        <ul class="verdict" data-testid="verdict" data-phrase=explanation.phrase>{lines}</ul>
        <Show when=move || workspace.controller.numbers.get()>
            <p class="rung-numbers">{numbers.clone()}</p>
        </Show>
        <div class="verdict-actions">
            <button class="linkish" type="button" on:click=move |_| workspace.select(&concept)>
                "Show it in the tree"
            </button>
            <button
                class="linkish"
                type="button"
                data-testid="why-where"
                on:click=move |_| show_where(heat, &phrase)
            >
                "Show where in the photo"
            </button>
        </div>
    }
}
