//! Status for screen readers: one sentence per change.

use espalier_core::caption::shown_rungs;
use leptos::prelude::*;

use super::answer::shown_sentence;
use crate::messages::protocol::Stage;
use crate::state::session::{Engine, Session, Work};
use crate::workspace::{Workspace, use_workspace};

/// A visually hidden ARIA live region.
#[component]
pub fn Status() -> impl IntoView {
    let workspace = use_workspace();
    let session = workspace.controller.session;
    let text = Memo::new(move |_| session.with(|session| status_text(session, workspace)));
    view! {
        <p class="visually-hidden" role="status" aria-live="polite" data-testid="status">
            {text}
        </p>
    }
}

fn status_text(session: &Session, workspace: Workspace) -> String {
    match (&session.work, &session.engine) {
        (Work::Done(answer), _) => {
            let sentence = untrack(|| shown_sentence(workspace, answer, None));
            let result = &answer.result;
            let rungs = shown_rungs(&result.ladder, &result.taxonomy).into_iter();
            let rungs: Vec<&str> = rungs.map(|rung| rung.text.as_str()).collect();
            match rungs.join("; ") {
                none if none.is_empty() => sentence,
                rungs => format!("{sentence} From general to specific: {rungs}."),
            }
        }
        (Work::Failed { error, .. }, _) | (_, Engine::Failed(error)) => {
            format!("{} {}", error.what, error.todo)
        }
        (Work::Running(_), _) => "Reading the photo.".to_owned(),
        (_, Engine::Probing) => "Loading the model.".to_owned(),
        (_, Engine::Loading { bar, .. }) => match bar.stage() {
            Stage::Engine | Stage::Manifest | Stage::Model => "Loading the model.".to_owned(),
            Stage::SelfTest | Stage::WarmUp => "The model has loaded. Testing it.".to_owned(),
        },
        (_, Engine::Ready(info)) => format!("Ready. Runs on {}.", info.backend.in_words()),
        (_, Engine::Off) => String::new(),
    }
}
