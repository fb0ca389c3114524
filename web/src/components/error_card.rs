//! An error in words: what happened, what to do, and one way on.

use leptos::prelude::*;

use crate::shell::use_shell;
use crate::state::session::Event;
use crate::ui_error::{Cause, UiError};

/// The card. It is announced by the status line, which is why it is no alert itself.
#[component]
pub fn ErrorCard(
    /// What to tell.
    error: UiError,
) -> impl IntoView {
    let shell = use_shell();
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
                    on:click=move |_| shell.dispatch(Event::Retry)
                >
                    "Try again"
                </button>
            </Show>
        </section>
    }
}
