//! The place in the taxonomy: from the root to the stop, and below it the unsupported steps.

use espalier_core::caption::{PathStep, TaxonomyResult};
use leptos::prelude::*;

use crate::controller::use_controller;
use crate::words::how_sure;
use crate::workspace::use_workspace;

/// Minimum probability at which a step counts as certain and needs no bar.
const BEYOND_DOUBT: f64 = 0.95;

/// Probability below which a step below the stop gets no bar.
const NEXT_TO_NOTHING: f64 = 0.05;

/// The path as an ordered list with a bar for each uncertain step.
#[component]
pub fn Path(
    /// Path and stop.
    taxonomy: TaxonomyResult,
) -> impl IntoView {
    let stop = taxonomy
        .path
        .iter()
        .position(|step| step.id == taxonomy.stop);
    let rows = taxonomy
        .path
        .into_iter()
        .enumerate()
        .map(|(place, step)| {
            let look = Look::of(place, step.p, stop);
            row(step, look)
        })
        .collect_view();
    view! {
        <ol class="path" data-testid="path" aria-label="Path in the taxonomy, from the root">
            {rows}
        </ol>
    }
}

/// How a step is displayed.
#[derive(Clone, Copy)]
struct Look {
    is_stop: bool,
    /// Whether it lies below the stop.
    is_below: bool,
    /// Whether it has no bar, and no label unless numbers are switched on.
    is_crumb: bool,
}

impl Look {
    /// Returns the look of the step at index `place`; `stop` is the index of the stop.
    fn of(place: usize, p: f64, stop: Option<usize>) -> Self {
        // The parent of the stop keeps its bar, so that the drop in probability is visible.
        let is_plain = p >= BEYOND_DOUBT && stop.is_some_and(|stop| place + 1 < stop);
        let is_below = stop.is_none_or(|stop| place > stop);
        let is_faint = is_below && p < NEXT_TO_NOTHING;
        Self {
            is_stop: stop == Some(place),
            is_below,
            is_crumb: is_plain || is_faint,
        }
    }
}

/// One step.
fn row(step: PathStep, look: Look) -> impl IntoView {
    let (controller, workspace) = (use_controller(), use_workspace());
    let sure = how_sure(step.p);
    let number = format!("{:.3}", step.p);
    let label = move || match (controller.numbers.get(), look.is_crumb) {
        (true, _) => Some(number.clone()),
        (false, false) => Some(sure.to_owned()),
        (false, true) => None,
    };
    view! {
        <li
            class="step"
            class:is-crumb=look.is_crumb
            class:is-stop=look.is_stop
            class:is-below=look.is_below
            data-testid="step"
            data-id=step.id.clone()
            data-p=step.p.to_string()
            aria-current=look.is_stop.then_some("step")
        >
            <button
                class="step-name"
                type="button"
                title="Show in the tree"
                on:click={
                    let id = step.id.clone();
                    move |_| workspace.show(&id)
                }
            >
                {step.name}
            </button>
            <span class="step-bar" aria-hidden="true">
                <span style=("--p", format!("{:.4}", step.p.clamp(0.0, 1.0)))></span>
            </span>
            <span class="step-sure">{label}</span>
            {look
                .is_stop
                .then(|| view! { <span class="step-note">"the evidence carries to here"</span> })}
        </li>
    }
}
