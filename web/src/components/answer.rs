//! The answer: one sentence, the dial, the ladder, the place in the taxonomy.

use std::sync::Arc;

use espalier_core::caption::{CaptionResult, TaxonomyResult};
use leptos::prelude::*;

use super::dial::DialView;
use super::ladder::Ladder;
use super::path::Path;
use super::region::SelectedPart;
use super::sent_bytes::SentBytes;
use super::subjects::{Subjects, SubjectsView};
use crate::messages::query::TreeSource;
use crate::state::session::Answer;
use crate::ui_error::UiError;
use crate::words::{
    also_sentence, answer_at, answer_guess, answer_sentence, format_duration, guess_sentence,
    sentence, two_things,
};
use crate::workspace::{Workspace, use_workspace};

/// Returns the answer as a sentence, in the shown tree and with the dial at `level`.
pub fn shown_sentence(workspace: Workspace, answer: &Answer, level: Option<usize>) -> String {
    let path = workspace.shown_path(answer);
    let dial = workspace.shown_dial(&path);
    match workspace.tree_source.get() {
        TreeSource::Bundle => answer_at(&answer.result, &dial, level),
        TreeSource::Own => sentence(&path, &dial, level),
    }
}

/// Displays an answer.
#[component]
pub fn AnswerView(answer: Arc<Answer>) -> impl IntoView {
    let workspace = use_workspace();
    let result = &answer.result;
    let path = {
        let answer = Arc::clone(&answer);
        Memo::new(move |_| workspace.shown_path(&answer))
    };
    let duration = result
        .timing_ms
        .get("total")
        .map(|total| format!("Read in {}. ", format_duration(*total)));
    view! {
        <article class="answer" data-testid="answer">
            <Head path answer=Arc::clone(&answer) />

            <section aria-labelledby="ladder-title">
                <div class="section-head">
                    <h2 id="ladder-title">
                        "What it sees " <em>"from general to specific"</em>
                    </h2>
                    {numbers_switch(workspace.controller.numbers)}
                </div>
                <Ladders result=result.clone() />
            </section>

            <section aria-labelledby="path-title">
                <div class="section-head">
                    <h2 id="path-title">"Where it belongs"</h2>
                </div>
                {move || view! { <Path taxonomy=path.get() /> }}
            </section>

            <SubjectsView result=result.clone() />

            <footer class="answer-foot">
                <p class="answer-time">{duration} <SentBytes /></p>
            </footer>
        </article>
    }
}

/// The sentence, the guess below it and the dial.
#[component]
fn Head(
    /// Path and stop in the shown tree.
    path: Memo<TaxonomyResult>,
    answer: Arc<Answer>,
) -> impl IntoView {
    let workspace = use_workspace();
    let sha256 = answer.result.model.sha256.clone();
    let also = also_sentence(&answer.result);
    let answer = StoredValue::new(answer);
    let is_own = move || workspace.tree_source.get() == TreeSource::Own;
    let is_whole = move || workspace.level.get().is_none() && !is_own();
    let said = move || {
        answer.with_value(|answer| shown_sentence(workspace, answer, workspace.level.get()))
    };
    let guess = move || {
        path.with(|path| {
            let dial = workspace.shown_dial(path);
            match is_whole() {
                true => answer.with_value(|answer| answer_guess(&answer.result, &dial)),
                false => guess_sentence(path, &dial),
            }
        })
    };
    let also = move || also.clone().filter(|_| is_whole());
    let subjects = expect_context::<Subjects>();
    view! {
        <header class="answer-head">
            <p class="answer-sentence" data-testid="stop-sentence">{said}</p>
            {move || also().map(|also| view! { <p class="answer-guess" data-testid="also">{also}</p> })}
            {move || {
                if let Some(two) = two_things(&subjects.shown(workspace)) {
                    return Some(view! { <p class="answer-guess" data-testid="two-things">{two}</p> });
                }
                let guess = workspace.level.get().is_none().then(guess).flatten();
                guess.map(|guess| view! { <p class="answer-guess" data-testid="guess">{guess}</p> })
            }}
            <Show when=is_own>
                <p class="note">"This is the answer in your own tree."</p>
            </Show>
            {other_model_note(workspace, sha256)}
            {move || {
                let result = answer.with_value(|answer| answer.result.clone());
                view! { <DialView taxonomy=path.get() result /> }
            }}
        </header>
    }
}

/// A note if the page's link was made with another model than the answer.
fn other_model_note(workspace: Workspace, sha256: String) -> impl IntoView {
    move || {
        let made_with = workspace.link.with_value(|link| link.made_with.clone());
        made_with
            .filter(|digits| !sha256.starts_with(digits.as_str()))
            .map(|_| {
                view! {
                    <p class="note" data-testid="other-model">
                        "This link was made with another model, so the answer may differ."
                    </p>
                }
            })
    }
}

/// The switch that shows raw numbers.
fn numbers_switch(numbers: RwSignal<bool>) -> impl IntoView {
    view! {
        <label class="switch">
            <input
                type="checkbox"
                role="switch"
                data-testid="numbers"
                prop:checked=numbers
                on:change:target=move |event| numbers.set(event.target().checked())
            />
            <span>"Numbers"</span>
        </label>
    }
}

/// The ladder of the photo, and next to it the one of the selected part.
#[component]
fn Ladders(result: CaptionResult) -> impl IntoView {
    let selected_part = expect_context::<SelectedPart>();
    let has_part = move || selected_part.region.with(Option::is_some);
    view! {
        <div class="ladders" class:has-part=has_part>
            <div class="ladder-of">
                <Show when=has_part>
                    <h3 class="ladder-title">"The whole photo"</h3>
                </Show>
                <Ladder result />
            </div>
            <Show when=has_part>
                <div class="ladder-of" data-testid="part">
                    <h3 class="ladder-title">"The selected area"</h3>
                    <PartAnswer selected_part />
                </div>
            </Show>
        </div>
    }
}

/// Displays the answer for the selected part of the photo.
#[component]
fn PartAnswer(selected_part: SelectedPart) -> impl IntoView {
    let workspace = use_workspace();
    move || match selected_part.answer.get() {
        None => view! { <p class="note" role="status">"Reading the area…"</p> }.into_any(),
        Some(Err(UiError { what, todo, .. })) => {
            view! { <p class="note is-error" role="status">{what} " " {todo}</p> }.into_any()
        }
        Some(Ok(answer)) => {
            let taxonomy = &answer.result.taxonomy;
            let part_sentence =
                untrack(|| answer_sentence(&answer.result, &workspace.dial(taxonomy)));
            view! {
                <p class="part-sentence" role="status" data-testid="part-sentence">{part_sentence}</p>
                <Ladder result=answer.result.clone() part=true />
            }
            .into_any()
        }
    }
}
