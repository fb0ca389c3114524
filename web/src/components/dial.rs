//! The dial from general to specific.

use espalier_core::caption::TaxonomyResult;
use leptos::prelude::*;

use crate::state::cut::Dial;
use crate::words::how_sure;
use crate::workspace::use_workspace;

/// A slider over the levels of the path.
#[component]
pub fn DialView(
    /// The path.
    taxonomy: TaxonomyResult,
) -> impl IntoView {
    let workspace = use_workspace();
    let path = StoredValue::new(taxonomy);
    let dial = Memo::new(move |_| path.with_value(|taxonomy| workspace.dial(taxonomy)));
    // If the evidence stops above all levels, the slider has an extra position (-1) to their left.
    let least = move || {
        if dial.with(Dial::evidence).is_none() {
            -1
        } else {
            0
        }
    };
    let level = move || {
        let shown = workspace.level.get().or(dial.with(Dial::evidence));
        shown.map_or(-1, |level| i64::try_from(level).unwrap_or(i64::MAX))
    };
    let last = move || dial.with(|dial| dial.len().saturating_sub(1));
    let said = move || {
        let place = usize::try_from(level()).ok();
        let place = place.and_then(|level| dial.with(|dial| dial.place(level)));
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
        workspace
            .level
            .get()
            .is_none_or(|level| Some(level) == evidence)
    };
    let share = move || {
        #[expect(clippy::cast_precision_loss, reason = "a handful of levels")]
        let share = (level() - least()) as f64 / (last() as f64 - least() as f64).max(1.0);
        format!("{:.2}%", share * 100.0)
    };
    view! {
        <Show when=move || dial.with(Dial::len).gt(&1)>
            <div class="dial">
                <span class="dial-end" aria-hidden="true">"general"</span>
                <input
                    class="range"
                    type="range"
                    min=move || least().to_string()
                    step="1"
                    max=move || last().to_string()
                    prop:value=move || level().to_string()
                    aria-label="From general to specific"
                    aria-valuetext=said
                    data-testid="dial"
                    style=("--share", share)
                    on:input:target=move |event| {
                        let turned = event.target().value().parse::<i64>().ok();
                        workspace.level.set(turned.and_then(|level| usize::try_from(level).ok()));
                    }
                />
                <span class="dial-end" aria-hidden="true">"specific"</span>
                <button
                    class="linkish dial-back"
                    type="button"
                    class:is-hidden=is_own
                    disabled=is_own
                    on:click=move |_| workspace.level.set(None)
                >
                    "Back to the evidence"
                </button>
            </div>
        </Show>
    }
}
