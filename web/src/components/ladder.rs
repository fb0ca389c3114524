//! The ladder: captions from general to specific, trained along the wires of a wall.

use espalier_core::caption::{CaptionResult, Rung};
use leptos::prelude::*;

use crate::shell::use_shell;
use crate::words::beyond_evidence;

/// The rungs as an ordered list. A rung's branch is the longer the further out its caption lies;
/// its leaf is hollow where it says more than the evidence carries.
#[component]
pub fn Ladder(
    /// What was read.
    result: CaptionResult,
) -> impl IntoView {
    let shell = use_shell();
    let beyond = beyond_evidence(&result);
    let any_beyond = beyond.contains(&true);
    let reach = reaches(&result.ladder);
    let rows = result
        .ladder
        .into_iter()
        .zip(reach)
        .zip(beyond)
        .enumerate()
        .map(|(place, ((rung, reach), beyond))| {
            let numbers = format!(
                "radius {:.3} · similarity {:.3}",
                rung.radius, rung.similarity
            );
            view! {
                <li
                    class="rung"
                    class:is-beyond=beyond
                    data-testid="rung"
                    data-radius=rung.radius.to_string()
                    data-similarity=rung.similarity.to_string()
                    style=("--reach", format!("{reach:.3}"))
                    style=("--place", place.to_string())
                >
                    <span class="rung-text" data-testid="rung-text">{rung.text}</span>
                    {beyond.then(|| view! { <span class="visually-hidden">" (a guess)"</span> })}
                    <Show when=move || shell.numbers.get()>
                        <span class="rung-numbers">{numbers.clone()}</span>
                    </Show>
                </li>
            }
        })
        .collect_view();
    view! {
        <ol class="ladder" data-testid="ladder" aria-label="Captions from general to specific">
            {rows}
        </ol>
        {any_beyond
            .then(|| {
                view! {
                    <p class="ladder-key" aria-hidden="true">
                        "Hollow leaves are guesses: they say more than the evidence carries."
                    </p>
                }
            })}
    }
}

/// Length of each rung's branch in [0, 1], by its radius; evenly where radii are all the same.
fn reaches(rungs: &[Rung]) -> Vec<f64> {
    let first = rungs.first().map_or(0.0, |rung| rung.radius);
    let span = rungs.last().map_or(0.0, |rung| rung.radius) - first;
    #[expect(clippy::cast_precision_loss, reason = "a handful of rungs")]
    let steps = rungs.len().saturating_sub(1).max(1) as f64;
    rungs
        .iter()
        .enumerate()
        .map(|(place, rung)| {
            #[expect(clippy::cast_precision_loss, reason = "a handful of rungs")]
            let even = place as f64 / steps;
            if span > 1e-6 {
                // Half by radius, half by place: two captions at nearly the same radius stay apart.
                0.5 * ((rung.radius - first) / span) + 0.5 * even
            } else {
                even
            }
        })
        .collect()
}
