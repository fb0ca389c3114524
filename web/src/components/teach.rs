//! "Teach it a name": a few photos, a name and a place in the tree, from then on part of every
//! answer. What was taught is stored in this browser and can be saved as a file.

use espalier_core::caption::TaughtConcept;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;

use super::error_card::ErrorNote;
use crate::photo::image_files;
use crate::save::{chosen_text, save_text};
use crate::state::lesson::check_words;
use crate::taught::Taught;
use crate::workspace::{Workspace, use_workspace};

/// Name of the saved file.
const FILE_NAME: &str = "espalier-names.json";

/// The panel; shown only if there is an answer, or something was taught.
#[component]
pub fn TeachPanel() -> impl IntoView {
    let workspace = use_workspace();
    let taught = expect_context::<Taught>();
    let shown = move || workspace.answer().is_some() || !taught.concepts.with(Vec::is_empty);
    view! {
        <Show when=shown>
            <section class="sheet" aria-labelledby="teach-title" data-testid="teach-panel">
                <div class="sheet-head">
                    <h2 id="teach-title">"Teach it a name"</h2>
                </div>
                <p class="note">
                    "Give it a few photos of something it does not know, such as your dog, and a name. \
                     It then recognises it in other photos. Names and photos stay in this browser."
                </p>
                <Show when=move || workspace.answer().is_some()>
                    <TeachForm />
                </Show>
                <TaughtList />
            </section>
        </Show>
    }
}

/// The form for a new name.
#[component]
fn TeachForm() -> impl IntoView {
    let form = Form::new(use_workspace(), expect_context::<Taught>());
    let submit = move |event: leptos::ev::SubmitEvent| {
        event.prevent_default();
        form.send();
    };
    view! {
        <form class="teach" on:submit=submit>
            <label class="field">
                <span class="field-name">"Name"</span>
                <input
                    class="input"
                    type="text"
                    maxlength="80"
                    placeholder="my dog Bella"
                    autocomplete="off"
                    data-testid="teach-name"
                    prop:value=form.name
                    on:input:target=move |event| form.name.set(event.target().value())
                />
            </label>
            {place_field(form)}
            {photo_fields(form)}
            <button class="button" type="submit" data-testid="teach-send" disabled=move || form.is_blocked()>
                "Teach"
            </button>
            <p class="note" role="status" data-testid="teach-said" class:is-error=move || form.said.with(Result::is_err)>
                {move || form.said.get().unwrap_or_else(|error| error)}
            </p>
        </form>
    }
}

/// The choice of the node below which the concept lies.
fn place_field(form: Form) -> impl IntoView {
    view! {
        <label class="field">
            <span class="field-name">"It is a kind of"</span>
            <select
                class="input"
                data-testid="teach-below"
                on:change:target=move |event| form.below.set(Some(event.target().value()))
            >
                <For each=move || form.places() key=|place| place.clone() let((id, name))>
                    <option
                        value=id.clone()
                        selected={
                            let id = id.clone();
                            move || form.place().as_ref() == Some(&id)
                        }
                    >
                        {name}
                    </option>
                </For>
            </select>
        </label>
    }
}

/// The photos: the one that is shown, and files.
fn photo_fields(form: Form) -> impl IntoView {
    let count = move || match form.files.with(Vec::len) {
        0 => "Add photos".to_owned(),
        1 => "1 more photo".to_owned(),
        n => format!("{n} more photos"),
    };
    view! {
        <div class="node-actions">
            <label class="check">
                <input
                    type="checkbox"
                    data-testid="teach-this"
                    prop:checked=form.with_shown
                    on:change:target=move |event| form.with_shown.set(event.target().checked())
                />
                <span>"The photo shown above"</span>
            </label>
            <label class="button is-quiet is-small">
                <input
                    class="visually-hidden"
                    type="file"
                    accept="image/*"
                    multiple
                    data-testid="teach-photos"
                    on:change:target=move |event| {
                        form.files.set(image_files(event.target().files()));
                    }
                />
                <span>{count}</span>
            </label>
        </div>
    }
}

/// The fields and the outcome of the form; cheap to copy.
#[derive(Clone, Copy)]
struct Form {
    workspace: Workspace,
    taught: Taught,
    name: RwSignal<String>,
    /// The chosen place, if any.
    below: RwSignal<Option<String>>,
    with_shown: RwSignal<bool>,
    files: RwSignal<Vec<web_sys::File>, LocalStorage>,
    busy: RwSignal<bool>,
    /// What was done, or what failed.
    said: RwSignal<Result<String, String>>,
}

impl Form {
    fn new(workspace: Workspace, taught: Taught) -> Self {
        Self {
            workspace,
            taught,
            name: RwSignal::new(String::new()),
            below: RwSignal::new(None),
            with_shown: RwSignal::new(true),
            files: RwSignal::new_local(Vec::new()),
            busy: RwSignal::new(false),
            said: RwSignal::new(Ok(String::new())),
        }
    }

    /// Returns the nodes that can be chosen, with their names: the selected one, then those of the
    /// photo's path from specific to general. Taught nodes have nothing below them.
    fn places(self) -> Vec<(String, String)> {
        let (Some(tree), Some(answer)) = (self.workspace.shown(), self.workspace.answer()) else {
            return Vec::new();
        };
        let path = self.workspace.shown_path(&answer);
        let selected = self.workspace.selected.get();
        let ids = path.path.iter().rev().map(|step| step.id.clone());
        let mut places: Vec<(String, String)> = Vec::new();
        for id in selected.into_iter().chain(ids) {
            let is_taught = self.taught.knows(&id);
            if let Some(ix) = tree
                .find(&id)
                .filter(|ix| !is_taught && tree.is_nameable(*ix))
                && places.iter().all(|(known, _)| *known != id)
            {
                places.push((id, tree.name(ix).to_owned()));
            }
        }
        places
    }

    /// Returns the id of the place: the chosen one, else the selected one, else the deepest that is
    /// sure.
    fn place(self) -> Option<String> {
        let answer = self.workspace.answer()?;
        let path = self.workspace.shown_path(&answer);
        let stop = path.path.iter().position(|step| step.id == path.stop)?;
        let sure = path.path[..=stop].iter().rev().map(|step| step.id.clone());
        let chosen = self.below.get().into_iter();
        let mut wanted = chosen.chain(self.workspace.selected.get()).chain(sure);
        let places = self.places();
        let offered = wanted.find(|id| places.iter().any(|(place, _)| place == id));
        offered.or_else(|| places.last().map(|(id, _)| id.clone()))
    }

    fn is_blocked(self) -> bool {
        let no_photo = !self.with_shown.get() && self.files.with(Vec::is_empty);
        self.busy.get() || no_photo || self.name.with(|name| name.trim().is_empty())
    }

    /// Reads the photos and teaches the concept.
    fn send(self) {
        if untrack(|| self.is_blocked()) {
            return;
        }
        let (Some(below), Some(answer)) = (
            untrack(|| self.place()),
            untrack(|| self.workspace.answer()),
        ) else {
            return;
        };
        let name = self.name.get_untracked().trim().to_owned();
        let shown = self.with_shown.get_untracked().then_some(answer.photo);
        let photos = shown.into_iter().collect();
        let files = self.files.get_untracked();
        self.busy.set(true);
        self.said.set(Ok("Reading the photos…".to_owned()));
        spawn_local(async move {
            let outcome = self.taught.learn(name.clone(), below, photos, files).await;
            self.busy.set(false);
            match outcome {
                Ok(check) => {
                    self.said.set(Ok(check_words(&name, &check)));
                    self.name.set(String::new());
                    self.files.set(Vec::new());
                    self.below.set(None);
                }
                Err(error) => {
                    self.said.set(Err(format!("{} {}", error.what, error.todo)));
                }
            }
        });
    }
}

/// The list of taught names, with buttons that remove, save and open them.
#[component]
fn TaughtList() -> impl IntoView {
    let taught = expect_context::<Taught>();
    let is_empty = move || taught.concepts.with(Vec::is_empty);
    let open = move |input: HtmlInputElement| {
        spawn_local(async move {
            if let Some(text) = chosen_text(input).await {
                taught.open(text).await;
            }
        });
    };
    view! {
        <ul class="taught" hidden=is_empty data-testid="taught">
            <For each=move || taught.concepts.get() key=TaughtConcept::id let(concept)>
                {line(taught, concept)}
            </For>
        </ul>
        <div class="node-actions">
            <button
                class="button is-quiet is-small"
                type="button"
                data-testid="teach-save"
                hidden=is_empty
                on:click=move |_| {
                    if let Some(text) = taught.file() {
                        save_text(&text, FILE_NAME, "application/json");
                    }
                }
            >
                "Save these names"
            </button>
            <label class="button is-quiet is-small">
                <input
                    class="visually-hidden"
                    type="file"
                    accept=".json,application/json"
                    data-testid="teach-open"
                    on:change:target=move |event| open(event.target())
                />
                <span>"Open saved names"</span>
            </label>
        </div>
        <ErrorNote error=taught.error />
    }
}

/// One taught concept.
fn line(taught: Taught, concept: TaughtConcept) -> impl IntoView {
    let (id, photos) = (concept.id(), concept.photos.len());
    let count = match photos {
        1 => "1 photo".to_owned(),
        n => format!("{n} photos"),
    };
    let name = concept.name;
    view! {
        <li data-testid="taught-name">
            <span>{name.clone()}</span>
            <span class="note">{count}</span>
            <button class="linkish" type="button" on:click=move |_| taught.remove(&id)>
                "Remove"
                <span class="visually-hidden">{format!(" {name}")}</span>
            </button>
        </li>
    }
}
