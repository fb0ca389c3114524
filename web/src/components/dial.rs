//! The dial from general to specific.

use espalier_core::caption::TaxonomyResult;
use leptos::prelude::*;

use crate::bench::use_bench;
use crate::state::cut::Dial;
use crate::words::how_sure;

/// A slider over the levels of the path.
#[component]
pub fn DialView(
    /// The path.
    taxonomy: TaxonomyResult,
) -> impl IntoView {
    let bench = use_bench();
    let path = StoredValue::new(taxonomy);
    let dial = Memo::new(move |_| path.with_value(|taxonomy| bench.dial(taxonomy)));
    let level = move || {
        let evidence = dial.with(Dial::evidence);
        bench.level.get().or(evidence).unwrap_or(0)
    };
    let last = move || dial.with(|dial| dial.len().saturating_sub(1));
    let said = move || {
        let place = dial.with(|dial| dial.place(level()));
        path.with_value(|taxonomy| {
            place
                .and_then(|place| taxonomy.path.get(place))
                .map_or_else(
                    || "nothing".to_owned(),
                    |step| format!("{}, {}", step.name, how_sure(step.p)),
                )
        })
    };
    let is_own = move || {
        let evidence = dial.with(Dial::evidence);
        bench
            .level
            .get()
            .is_none_or(|level| Some(level) == evidence)
    };
    let share = move || {
        #[expect(clippy::cast_precision_loss, reason = "a handful of levels")]
        let share = level() as f64 / last().max(1) as f64;
        format!("{:.2}%", share * 100.0)
    };
    view! {
        <Show when=move || last().gt(&0)>
            <div class="dial">
                <span class="dial-end" aria-hidden="true">"general"</span>
                <input
                    class="range"
                    type="range"
                    min="0"
                    step="1"
                    max=move || last().to_string()
                    prop:value=move || level().to_string()
                    aria-label="From general to specific"
                    aria-valuetext=said
                    data-testid="dial"
                    style=("--share", share)
                    on:input:target=move |event| {
                        bench.level.set(event.target().value().parse().ok());
                    }
                />
                <span class="dial-end" aria-hidden="true">"specific"</span>
                <button
                    class="linkish dial-back"
                    type="button"
                    class:is-hidden=is_own
                    disabled=is_own
                    on:click=move |_| bench.level.set(None)
                >
                    "Back to the evidence"
                </button>
            </div>
        </Show>
    }
}
