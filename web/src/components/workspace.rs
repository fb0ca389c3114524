//! The area below photo and answer: the tree, the space, questions and exports.

use leptos::prelude::*;

use super::compare::Compare;
use super::export::ExportPanel;
use super::folder::FolderTable;
use super::space::SpacePanel;
use super::teach::TeachPanel;
use super::tree::TreePanel;
use super::why_not::WhyNot;
use crate::workspace::use_workspace;

/// The workspace; shown once there is an answer, or earlier on request.
#[component]
pub fn WorkspaceView() -> impl IntoView {
    let workspace = use_workspace();
    let answered = Memo::new(move |_| workspace.answer().is_some());
    // Stays open once shown, so that the tree keeps its expanded rows while the next photo is read.
    let shown = Memo::new(move |before: Option<&bool>| {
        answered.get() || workspace.open.get() || before.copied().unwrap_or(false)
    });
    view! {
        <Show when=move || shown.get()>
            <div class="bench" data-testid="bench">
                <FolderTable />
                <Compare />
                <div class="bench-columns">
                    <div class="bench-column">
                        <TreePanel />
                        <WhyNot />
                        <TeachPanel />
                    </div>
                    <div class="bench-column">
                        <SpacePanel />
                        <ExportPanel />
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
                    on:click=move |_| workspace.open.set(true)
                >
                    "Or browse the tree of concepts first"
                </button>
            </p>
        </Show>
    }
}
