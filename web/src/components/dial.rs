//! The dial from general to specific.

use espalier_core::caption::{CaptionResult, Rung, TaxonomyResult};
use leptos::prelude::*;

use crate::messages::query::TreeSource;
use crate::state::dial::Dial;
use crate::words::position;
use crate::workspace::{Workspace, use_workspace};

/// A slider over the levels of the path.
#[component]
pub fn DialView(taxonomy: TaxonomyResult, result: CaptionResult) -> impl IntoView {
    let slider = Slider::new(use_workspace(), taxonomy, result);
    view! {
        <Show when=move || slider.dial.with(Dial::len).gt(&1)>
            <div class="dial">
                <span class="dial-end" aria-hidden="true">"general"</span>
                <input
                    class="range"
                    type="range"
                    min=move || slider.first().to_string()
                    step="1"
                    max=move || slider.last().to_string()
                    prop:value=move || slider.level().to_string()
                    aria-label="From general to specific"
                    aria-valuetext=move || slider.in_words()
                    data-testid="dial"
                    style=("--share", move || slider.share())
                    on:input:target=move |event| {
                        let position = event.target().value().parse::<i64>().ok();
                        slider.chosen.set(position.and_then(|level| usize::try_from(level).ok()));
                    }
                />
                <span class="dial-end" aria-hidden="true">"specific"</span>
                <button
                    class="linkish dial-back"
                    type="button"
                    class:is-hidden=move || slider.is_at_evidence()
                    disabled=move || slider.is_at_evidence()
                    on:click=move |_| slider.chosen.set(None)
                >
                    "Back to what is sure"
                </button>
            </div>
        </Show>
    }
}

/// The slider's range and position; cheap to copy. If the evidence stops above all levels, it has an
/// extra position (-1) to their left.
#[derive(Clone, Copy)]
struct Slider {
    path: StoredValue<TaxonomyResult>,
    ladder: StoredValue<Vec<Rung>>,
    dial: Memo<Dial>,
    /// The level that the visitor chose; `None` means the level where the evidence stops.
    chosen: RwSignal<Option<usize>>,
}

impl Slider {
    fn new(workspace: Workspace, taxonomy: TaxonomyResult, result: CaptionResult) -> Self {
        let path = StoredValue::new(taxonomy);
        let ladder = StoredValue::new(result.ladder.clone());
        let of_ladder = Dial::of_ladder(&result);
        let dial = move |_: Option<&Dial>| {
            // An own tree has a path, but no captions.
            let is_own = workspace.tree_source.get() == TreeSource::Own;
            let of_ladder = of_ladder.clone().filter(|_| !is_own);
            of_ladder.unwrap_or_else(|| path.with_value(|path| workspace.shown_dial(path)))
        };
        Self {
            path,
            ladder,
            dial: Memo::new(dial),
            chosen: workspace.level,
        }
    }

    /// Returns the first position.
    fn first(self) -> i64 {
        if self.dial.with(Dial::evidence).is_none() {
            -1
        } else {
            0
        }
    }

    /// Returns the last position.
    fn last(self) -> usize {
        self.dial.with(|dial| dial.len().saturating_sub(1))
    }

    /// Returns the current position.
    fn level(self) -> i64 {
        let shown = self.chosen.get().or(self.dial.with(Dial::evidence));
        shown.map_or(-1, |level| i64::try_from(level).unwrap_or(i64::MAX))
    }

    /// Returns the position as a percentage of the way from the first to the last.
    fn share(self) -> String {
        let (first, last) = (self.first(), self.last());
        let share = (self.level() - first) as f64 / (last as f64 - first as f64).max(1.0);
        format!("{:.2}%", share * 100.0)
    }

    /// Describes the step at the current position.
    fn in_words(self) -> String {
        let Ok(level) = usize::try_from(self.level()) else {
            return "nothing".to_owned();
        };
        self.dial.with(|dial| {
            self.path.with_value(|taxonomy| {
                self.ladder
                    .with_value(|ladder| position(dial, level, &taxonomy.path, ladder))
            })
        })
    }

    /// Returns whether the dial is where the evidence stops.
    fn is_at_evidence(self) -> bool {
        let evidence = self.dial.with(Dial::evidence);
        self.chosen
            .get()
            .is_none_or(|level| Some(level) == evidence)
    }
}
