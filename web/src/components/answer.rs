//! The answer: one sentence, the ladder, the place in the taxonomy, the result to take along.

use std::sync::Arc;

use leptos::prelude::*;

use super::json::ResultJson;
use super::ladder::Ladder;
use super::path::Path;
use crate::shell::use_shell;
use crate::state::session::Answer;
use crate::words::{guess_sentence, in_time, stop_sentence};

/// An answer.
#[component]
pub fn AnswerView(
    /// What to draw.
    answer: Arc<Answer>,
) -> impl IntoView {
    let shell = use_shell();
    let result = &answer.result;
    let sentence = stop_sentence(&result.taxonomy);
    let guess = guess_sentence(&result.taxonomy);
    let read = result
        .timing_ms
        .get("total")
        .map(|total| format!("Read in {}.", in_time(*total)));
    let left_out = move || match shell.left_out.get() {
        0 => None,
        1 => Some("One more file came with it and was left out.".to_owned()),
        n => Some(format!("{n} more files came with it and were left out.")),
    };
    view! {
        <article class="answer" data-testid="answer">
            <header class="answer-head">
                <p class="answer-sentence" data-testid="stop-sentence">{sentence}</p>
                {guess.map(|guess| view! { <p class="answer-guess">{guess}</p> })}
                <Show when=move || shell.left_out.get() != 0>
                    <p class="answer-guess">{left_out}</p>
                </Show>
            </header>

            <section aria-labelledby="ladder-title">
                <div class="section-head">
                    <h2 id="ladder-title">
                        "What it sees" <em>"from general to specific"</em>
                    </h2>
                    <label class="switch">
                        <input
                            type="checkbox"
                            role="switch"
                            data-testid="numbers"
                            prop:checked=shell.numbers
                            on:change:target=move |event| shell.numbers.set(event.target().checked())
                        />
                        <span>"Numbers"</span>
                    </label>
                </div>
                <Ladder result=result.clone() />
            </section>

            <section aria-labelledby="path-title">
                <div class="section-head">
                    <h2 id="path-title">"Where it belongs"</h2>
                </div>
                <Path taxonomy=result.taxonomy.clone() />
            </section>

            <footer class="answer-foot">
                <p class="answer-time">{read}</p>
                <ResultJson json=answer.json.clone() />
            </footer>
        </article>
    }
}
