//! Below photo and answer: the tree, the space, questions, and what can be taken away.

use leptos::prelude::*;

use super::compare::Compare;
use super::folder::FolderTable;
use super::space::SpacePanel;
use super::take::TakePanel;
use super::tree::TreePanel;
use super::why_not::WhyNot;
use crate::bench::use_bench;

/// The bench; before there is a photo only where it was asked for.
#[component]
pub fn BenchView() -> impl IntoView {
    let bench = use_bench();
    let answered = Memo::new(move |_| bench.answer().is_some());
    // Once open it stays, so that the tree keeps what is unfolded while the next photo is read.
    let shown = Memo::new(move |before: Option<&bool>| {
        answered.get() || bench.open.get() || before.copied().unwrap_or(false)
    });
    view! {
        <Show when=move || shown.get()>
            <div class="bench" data-testid="bench">
                <FolderTable />
                <Compare />
                <div class="bench-columns">
                    <div class="bench-column">
                        <TreePanel />
                    </div>
                    <div class="bench-column">
                        <SpacePanel />
                        <WhyNot />
                        <TakePanel />
                    </div>
                </div>
            </div>
        </Show>
        <Show when=move || !shown.get()>
            <p class="bench-closed">
                <button
                    class="linkish"
                    type="button"
                    data-testid="browse"
                    on:click=move |_| bench.open.set(true)
                >
                    "Or browse the tree of concepts first"
                </button>
            </p>
        </Show>
    }
}
