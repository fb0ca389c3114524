//! The index in the taxonomy: from the root to the stop, and below it the unsupported steps.

use espalier_core::caption::{PathStep, TaxonomyResult};
use leptos::prelude::*;

use crate::words::certainty;
use crate::workspace::use_workspace;

/// Minimum probability at which a step counts as certain and needs no bar.
const CERTAIN: f64 = 0.95;

/// Probability below which a step below the stop gets no bar.
const NEGLIGIBLE: f64 = 0.05;

/// The path as an ordered list with a bar for each uncertain step. Steps that nobody would name, such as
/// "whole" and "instrumentality", are shown on demand.
#[component]
pub fn Path(taxonomy: TaxonomyResult) -> impl IntoView {
    let workspace = use_workspace();
    let every = RwSignal::new(false);
    let steps = move || {
        let dial = workspace.shown_dial(&taxonomy);
        let named = dial.path_indices(Some(dial.len()));
        let stop = dial.evidence().and_then(|level| dial.path_index(level));
        let steps = taxonomy.path.iter().cloned().enumerate();
        let steps = steps.filter(|(index, _)| every.get() || named.contains(index));
        steps
            .map(|(index, step)| {
                let style = StepStyle::of(index, step.p, stop);
                row(step, style)
            })
            .collect_view()
    };
    let label = move || match every.get() {
        true => "Show fewer steps",
        false => "Show every step",
    };
    view! {
        <ol class="path" data-testid="path" aria-label="Path in the taxonomy, from the root">
            {steps}
        </ol>
        <button
            class="linkish"
            type="button"
            data-testid="every-step"
            on:click=move |_| every.update(|every| *every = !*every)
        >
            {label}
        </button>
    }
}

/// How a step is displayed.
#[derive(Clone, Copy)]
struct StepStyle {
    is_stop: bool,
    /// Whether it lies below the stop.
    is_below: bool,
    /// Whether it has no bar, and no label unless numbers are switched on.
    is_crumb: bool,
}

impl StepStyle {
    /// Returns the style of the step at index `index`; `stop` is the index of the stop.
    fn of(index: usize, p: f64, stop: Option<usize>) -> Self {
        // The parent of the stop keeps its bar, so that the drop in probability is visible.
        let is_plain = p >= CERTAIN && stop.is_some_and(|stop| index + 1 < stop);
        let is_below = stop.is_none_or(|stop| index > stop);
        let is_faint = is_below && p < NEGLIGIBLE;
        Self {
            is_stop: stop == Some(index),
            is_below,
            is_crumb: is_plain || is_faint,
        }
    }
}

/// One step.
fn row(step: PathStep, style: StepStyle) -> impl IntoView {
    let workspace = use_workspace();
    let certainty = certainty(step.p, style.is_below);
    let number = format!("{:.3}", step.p);
    let label = move || match (workspace.controller.numbers.get(), style.is_crumb) {
        (true, _) => Some(number.clone()),
        (false, false) => Some(certainty.to_owned()),
        (false, true) => None,
    };
    view! {
        <li
            class="step"
            class:is-crumb=style.is_crumb
            class:is-stop=style.is_stop
            class:is-below=style.is_below
            data-testid="step"
            data-id=step.id.clone()
            data-p=step.p.to_string()
            aria-current=style.is_stop.then_some("step")
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
            {style
                .is_stop
                .then(|| view! { <span class="step-note">"sure up to here"</span> })}
        </li>
    }
}
