//! The two subjects of a photo, each with its own ladder.

use std::rc::Rc;
use std::time::Duration;

use espalier_core::caption::{CaptionResult, Subject, spoken_name};
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::ladder::Ladder;
use crate::messages::photo_id::PhotoId;
use crate::messages::query::{Query, QueryAnswer, TreeSource};
use crate::state::heat::where_is;
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

/// Shows the ladders of both subjects.
#[component]
pub fn SubjectsView(result: CaptionResult) -> impl IntoView {
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
            <h3 class="ladder-title">{name} ", " {where_is(subject.region)}</h3>
            <Ladder result part=true />
        </div>
    }
}
