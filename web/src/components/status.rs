//! Status for screen readers: one sentence per change.

use leptos::prelude::*;

use crate::controller::use_controller;
use crate::messages::protocol::Stage;
use crate::state::session::{Engine, Session, Work};
use crate::words::sentence;
use crate::workspace::{Workspace, use_workspace};

/// A visually hidden ARIA live region.
#[component]
pub fn Status() -> impl IntoView {
    let (controller, workspace) = (use_controller(), use_workspace());
    let text = Memo::new(move |_| {
        controller
            .session
            .with(|session| status_text(session, workspace))
    });
    view! {
        <p class="visually-hidden" role="status" aria-live="polite" data-testid="status">
            {text}
        </p>
    }
}

fn status_text(session: &Session, workspace: Workspace) -> String {
    match (&session.work, &session.engine) {
        (Work::Done(answer), _) => {
            let taxonomy = &answer.result.taxonomy;
            let rungs: Vec<&str> = answer
                .result
                .ladder
                .iter()
                .map(|rung| rung.text.as_str())
                .collect();
            format!(
                "{} From general to specific: {}.",
                untrack(|| sentence(taxonomy, &workspace.dial(taxonomy), None)),
                rungs.join("; ")
            )
        }
        (Work::Failed { error, .. }, _) | (_, Engine::Failed(error)) => {
            format!("{} {}", error.what, error.todo)
        }
        (Work::Running(_), _) => "Reading the photo.".to_owned(),
        (_, Engine::Probing) => "Loading the model.".to_owned(),
        (_, Engine::Loading { bar, .. }) => match bar.stage() {
            Stage::Engine | Stage::Manifest | Stage::Model => "Loading the model.".to_owned(),
            Stage::SelfTest | Stage::WarmUp => "The model has arrived and is tested.".to_owned(),
        },
        (_, Engine::Ready(info)) => format!("Ready. Runs on {}.", info.backend.in_words()),
        (_, Engine::Off) => String::new(),
    }
}
