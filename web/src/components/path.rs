//! The place in the taxonomy: from the root to the stop, and below it what was not carried.

use espalier_core::caption::TaxonomyResult;
use leptos::prelude::*;

use crate::shell::use_shell;
use crate::words::how_sure;

/// The path as an ordered list with a bar for each step.
#[component]
pub fn Path(
    /// Path and stop.
    taxonomy: TaxonomyResult,
) -> impl IntoView {
    let shell = use_shell();
    let stop = taxonomy.path.iter().position(|step| step.id == taxonomy.stop);
    let rows = taxonomy
        .path
        .into_iter()
        .enumerate()
        .map(|(place, step)| {
            let is_stop = stop == Some(place);
            let below = stop.is_none_or(|stop| place > stop);
            let sure = how_sure(step.p);
            let number = format!("{:.3}", step.p);
            view! {
                <li
                    class="step"
                    class:is-stop=is_stop
                    class:is-below=below
                    data-testid="step"
                    data-id=step.id
                    data-p=step.p.to_string()
                    aria-current=is_stop.then_some("step")
                >
                    <span class="step-name">{step.name}</span>
                    <span class="step-bar" aria-hidden="true">
                        <span style=("--p", format!("{:.4}", step.p.clamp(0.0, 1.0)))></span>
                    </span>
                    <span class="step-sure">
                        {move || if shell.numbers.get() { number.clone() } else { sure.to_owned() }}
                    </span>
                    {is_stop
                        .then(|| view! { <span class="step-note">"the evidence carries to here"</span> })}
                </li>
            }
        })
        .collect_view();
    view! {
        <ol class="path" data-testid="path" aria-label="Path in the taxonomy, from the root">
            {rows}
        </ol>
    }
}
