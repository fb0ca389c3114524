//! The text column: empty, then waiting, then the answer or an error.

use std::sync::Arc;

use leptos::prelude::*;

use super::answer::AnswerView;
use super::error_card::ErrorCard;
use crate::controller::use_controller;
use crate::state::session::{Answer, Engine, Session, Work};
use crate::ui_error::UiError;

/// Content beside the photo.
#[derive(Clone, PartialEq)]
enum Shows {
    Nothing,
    Wait(&'static str),
    Answer(Arc<Answer>),
    Error(UiError),
}

impl Shows {
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
            (_, Work::Waiting(_)) => Self::Wait("Your photo is read as soon as the model is here."),
            (_, Work::Running(_)) => Self::Wait("Reading the photo…"),
            (_, Work::Done(answer)) => Self::Answer(Arc::clone(answer)),
            (_, Work::Failed { error, .. }) => Self::Error(error.clone()),
        }
    }
}

/// The column.
#[component]
pub fn Outcome() -> impl IntoView {
    let controller = use_controller();
    let shows = Memo::new(move |_| {
        controller
            .session
            .with(|session| (session.turn, Shows::of(session)))
    });
    view! {
        <div class="words" class:is-empty=move || shows.with(|(_, shows)| *shows == Shows::Nothing)>
            // One entry with a key, so that every turn is drawn anew: the ladder grows again, and
            // the same error twice is seen to be two.
            <For
                each=move || std::iter::once(shows.get())
                key=|(turn, shows)| (*turn, shows.kind())
                let((_, shows))
            >
                {match shows {
                    Shows::Nothing => ().into_any(),
                    Shows::Wait(words) => view! { <Wait words /> }.into_any(),
                    Shows::Answer(answer) => view! { <AnswerView answer /> }.into_any(),
                    Shows::Error(error) => view! { <ErrorCard error /> }.into_any(),
                }}
            </For>
        </div>
    }
}

/// Placeholder for a pending answer.
#[component]
fn Wait(
    /// Text that explains the wait.
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
