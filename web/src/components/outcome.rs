//! The text column: empty, then waiting, then the answer or an error.

use std::sync::Arc;

use leptos::prelude::*;

use super::answer::AnswerView;
use super::error_card::ErrorCard;
use crate::state::session::{Answer, Engine, Session, Work};
use crate::ui_error::UiError;
use crate::workspace::use_workspace;

/// Content next to the photo.
#[derive(Clone, PartialEq)]
enum Content {
    Nothing,
    Wait(&'static str),
    Answer(Arc<Answer>),
    Error(UiError),
}

impl Content {
    /// Returns a key that distinguishes kinds of content within a turn.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Wait(words) => words,
            Self::Answer(_) => "answer",
            Self::Error(_) => "error",
        }
    }

    fn of(session: &Session) -> Self {
        match (&session.engine, &session.work) {
            (Engine::Failed(error), Work::None | Work::Waiting(_)) => Self::Error(error.clone()),
            (_, Work::None) => Self::Nothing,
            (_, Work::Waiting(_)) => {
                Self::Wait("Your photo will be read as soon as the model has loaded.")
            }
            (_, Work::Running(_)) => Self::Wait("Reading the photo…"),
            (_, Work::Done(answer)) => Self::Answer(Arc::clone(answer)),
            (_, Work::Failed { error, .. }) => Self::Error(error.clone()),
        }
    }
}

/// The column.
#[component]
pub fn Outcome() -> impl IntoView {
    let session = use_workspace().controller.session;
    let content = Memo::new(move |_| session.with(|session| (session.turn, Content::of(session))));
    view! {
        <div class="words" class:is-empty=move || content.with(|(_, content)| *content == Content::Nothing)>
            // One entry with a key, so that every turn is drawn again: the ladder is animated again, and
            // a repeated error is visible as a new one.
            <For
                each=move || std::iter::once(content.get())
                key=|(turn, content)| (*turn, content.kind())
                let((_, content))
            >
                {match content {
                    Content::Nothing => ().into_any(),
                    Content::Wait(words) => view! { <Wait words /> }.into_any(),
                    Content::Answer(answer) => view! { <AnswerView answer /> }.into_any(),
                    Content::Error(error) => view! { <ErrorCard error /> }.into_any(),
                }}
            </For>
        </div>
    }
}

/// Placeholder for a pending answer.
#[component]
fn Wait(words: &'static str) -> impl IntoView {
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
