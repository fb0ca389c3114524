//! An error as text: what happened, what to do, and one action; or a note without an action.

use leptos::prelude::*;

use crate::state::session::Event;
use crate::ui_error::{Cause, UiError};
use crate::workspace::use_workspace;

/// The card. It is not an ARIA alert, because the status line already announces the error.
#[component]
pub fn ErrorCard(error: UiError) -> impl IntoView {
    let controller = use_workspace().controller;
    let again = error.cause != Cause::Photo;
    view! {
        <section class="card is-error" data-testid="error-card" data-cause=error.cause.as_str()>
            <h2>{error.what}</h2>
            <p>{error.todo}</p>
            {error
                .detail
                .map(|detail| {
                    view! {
                        <p class="card-detail">
                            <span>"For a report: "</span>
                            <code>{detail}</code>
                        </p>
                    }
                })}
            <Show when=move || again>
                <button
                    class="button"
                    type="button"
                    data-testid="retry"
                    on:click=move |_| controller.dispatch(Event::Retry)
                >
                    "Try again"
                </button>
            </Show>
        </section>
    }
}

/// An error beside what caused it, if there is one.
#[component]
pub fn ErrorNote(error: RwSignal<Option<UiError>>) -> impl IntoView {
    move || {
        let error = error.get()?;
        Some(view! { <p class="note is-error" role="alert">{error.what} " " {error.todo}</p> })
    }
}
