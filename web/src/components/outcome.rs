//! The column of words: nothing, then waiting, then the answer or an error.

use leptos::prelude::*;

use super::answer::AnswerView;
use super::error_card::ErrorCard;
use crate::shell::use_shell;
use crate::state::session::{Engine, Work};
use crate::ui_error::UiError;

/// What stands beside the photo.
#[derive(Clone, PartialEq)]
enum Shows {
    Nothing,
    Wait(&'static str),
    Answer(std::sync::Arc<crate::state::session::Answer>),
    Error(UiError),
}

/// The column.
#[component]
pub fn Outcome() -> impl IntoView {
    let shell = use_shell();
    let shows = Memo::new(move |_| {
        shell
            .session
            .with(|session| match (&session.engine, &session.work) {
                (Engine::Failed(error), Work::None | Work::Waiting(_)) => {
                    Shows::Error(error.clone())
                }
                (_, Work::None) => Shows::Nothing,
                (_, Work::Waiting(_)) => {
                    Shows::Wait("Your photo is read as soon as the model is here.")
                }
                (_, Work::Running(_)) => Shows::Wait("Reading the photo…"),
                (_, Work::Done(answer)) => Shows::Answer(answer.clone()),
                (_, Work::Failed { error, .. }) => Shows::Error(error.clone()),
            })
    });
    view! {
        <div class="words" class:is-empty=move || shows.get() == Shows::Nothing>
            {move || match shows.get() {
                Shows::Nothing => ().into_any(),
                Shows::Wait(words) => view! { <Wait words /> }.into_any(),
                Shows::Answer(answer) => view! { <AnswerView answer /> }.into_any(),
                Shows::Error(error) => view! { <ErrorCard error /> }.into_any(),
            }}
        </div>
    }
}

/// The shape of an answer that is still to come.
#[component]
fn Wait(
    /// What is being waited for.
    words: &'static str,
) -> impl IntoView {
    view! {
        <div class="wait" data-testid="wait">
            <p class="wait-words">{words}</p>
            <div class="wait-shape" aria-hidden="true">
                <span></span>
                <span></span>
                <span></span>
                <span></span>
            </div>
        </div>
    }
}
