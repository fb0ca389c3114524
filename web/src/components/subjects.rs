//! The two subjects of a photo, each with its own ladder.

use std::time::Duration;

use espalier_core::caption::{CaptionResult, Subject, spoken_name};
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::ladder::Ladder;
use crate::messages::query::{PhotoId, Query, QueryAnswer, TreeSource};
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
        Effect::new(move |_| {
            let photo = photo.get();
            subjects.found.set(Vec::new());
            if let Some(photo) = photo {
                set_timeout(move || subjects.look(workspace, photo), DELAY);
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

    /// Asks the engine, if the photo is still shown. Without an answer, the photo is taken to show
    /// one subject.
    fn look(self, workspace: Workspace, id: PhotoId) {
        let controller = workspace.controller;
        let is_shown = move || {
            let answer = untrack(|| workspace.answer());
            answer.is_some_and(|answer| answer.photo == id)
        };
        let Some(photo) = controller.photo.get_untracked().filter(|_| is_shown()) else {
            return;
        };
        spawn_local(async move {
            let answer = controller.ask(Query::Subjects, Some(&photo.file), None);
            if let Ok(QueryAnswer::Subjects { subjects }) = answer.await
                && is_shown()
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
