//! The two subjects of a photo, each with its own ladder.

use std::rc::Rc;
use std::time::Duration;

use espalier_core::caption::{CaptionResult, Subject, spoken_name};
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::ladder::Ladder;
use crate::messages::photo_id::PhotoId;
use crate::messages::query::{Query, QueryAnswer, TreeSource};
use crate::workspace::{Workspace, use_workspace};

/// Delay after an answer before the photo's parts are read, so that a visitor who goes on to the
/// next photo does not wait for them.
const DELAY: Duration = Duration::from_millis(400);

/// The subjects of the shown photo; cheap to copy.
#[derive(Clone, Copy)]
pub struct Subjects {
    /// Two subjects; empty while they are not known, and if the photo does not clearly show two.
    found: RwSignal<Vec<Subject>>,
}

impl Subjects {
    /// Looks for two subjects in each photo that gets an answer.
    #[must_use]
    pub fn new(workspace: Workspace) -> Self {
        let subjects = Self {
            found: RwSignal::new(Vec::new()),
        };
        let photo = Memo::new(move |_| workspace.answer().map(|answer| answer.photo));
        let pending = StoredValue::new(None::<TimeoutHandle>);
        Effect::new(move |_| {
            let photo = photo.get();
            subjects.found.set(Vec::new());
            if let Some(timer) = pending.try_update_value(Option::take).flatten() {
                timer.clear();
            }
            if let Some(photo) = photo {
                let look = move || subjects.look(workspace, photo);
                pending.set_value(set_timeout_with_handle(look, DELAY).ok());
            }
        });
        subjects
    }

    /// Returns the subjects to show. They belong to the model's tree.
    pub fn shown(self, workspace: Workspace) -> Vec<Subject> {
        match workspace.tree_source.get() {
            TreeSource::Bundle => self.found.get(),
            TreeSource::Own => Vec::new(),
        }
    }

    /// Asks the engine. Without an answer, the photo is taken to show one subject.
    fn look(self, workspace: Workspace, id: PhotoId) {
        let controller = workspace.controller;
        let Some(photo) = controller.photo.get_untracked() else {
            return;
        };
        spawn_local(async move {
            let Ok(bytes) = photo.bytes().await else {
                return;
            };
            let report = Rc::new(|_, _| ());
            let answer = controller.ask(Query::Subjects, Some(bytes), report).await;
            let shown = untrack(|| workspace.answer().map(|answer| answer.photo));
            if let Ok(QueryAnswer::Subjects { subjects }) = answer
                && shown == Some(id)
            {
                self.found.set(subjects);
            }
        });
    }
}

/// Says where a half or a quarter of the photo lies.
fn side([left, top, right, bottom]: [f32; 4]) -> &'static str {
    let across = match (left > 0.0, right < 1.0) {
        (false, true) => Some("left"),
        (true, false) => Some("right"),
        _ => None,
    };
    let down = match (top > 0.0, bottom < 1.0) {
        (false, true) => Some("top"),
        (true, false) => Some("bottom"),
        _ => None,
    };
    match (across, down) {
        (Some("left"), Some("top")) => "in the upper left",
        (Some("left"), Some(_)) => "in the lower left",
        (Some(_), Some("top")) => "in the upper right",
        (Some(_), Some(_)) => "in the lower right",
        (Some("left"), None) => "on the left",
        (Some(_), None) => "on the right",
        (None, Some("top")) => "at the top",
        (None, Some(_)) => "at the bottom",
        (None, None) => "in the photo",
    }
}

/// Shows the ladders of both subjects.
#[component]
pub fn SubjectsView(
    /// The result for the whole photo.
    result: CaptionResult,
) -> impl IntoView {
    let (workspace, subjects) = (use_workspace(), expect_context::<Subjects>());
    move || {
        let found = subjects.shown(workspace);
        let ladders = found.iter().map(|subject| ladder_of(subject, &result));
        let ladders = ladders.collect_view();
        (!found.is_empty()).then(|| {
            view! {
                <section aria-labelledby="subjects-title" data-testid="subjects">
                    <div class="section-head">
                        <h2 id="subjects-title">"Two things in it"</h2>
                    </div>
                    <div class="ladders has-part">{ladders}</div>
                </section>
            }
        })
    }
}

fn ladder_of(subject: &Subject, result: &CaptionResult) -> impl IntoView + use<> {
    let result = CaptionResult {
        ladder: subject.ladder.clone(),
        taxonomy: subject.taxonomy.clone(),
        ..result.clone()
    };
    let name = spoken_name(&subject.node, &subject.name);
    view! {
        <div class="ladder-of">
            <h3 class="ladder-title">{name} ", " {side(subject.region)}</h3>
            <Ladder result part=true />
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_quarters_are_named() {
        for (region, expected) in [
            ([0.0, 0.0, 0.5, 1.0], "on the left"),
            ([0.5, 0.0, 1.0, 1.0], "on the right"),
            ([0.0, 0.0, 1.0, 0.5], "at the top"),
            ([0.0, 0.5, 1.0, 1.0], "at the bottom"),
            ([0.0, 0.0, 0.5, 0.5], "in the upper left"),
            ([0.5, 0.0, 1.0, 0.5], "in the upper right"),
            ([0.0, 0.5, 0.5, 1.0], "in the lower left"),
            ([0.5, 0.5, 1.0, 1.0], "in the lower right"),
        ] {
            assert_eq!(side(region), expected);
        }
    }
}
