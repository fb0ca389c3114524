//! Several photos at once: a table with a line for each, and their counts in the tree.

use std::collections::HashMap;

use js_sys::Intl::Collator;
use js_sys::{Array, Object, Reflect};
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use crate::controller::AppController;
use crate::messages::query::PhotoId;
use crate::save::save_text;
use crate::state::batch::{Batch, Item, ItemStatus, MAX_PHOTOS};
use crate::state::session::Event;
use crate::words::how_sure;
use crate::workspace::{Workspace, use_workspace};

/// The photos and their files; cheap to copy.
#[derive(Clone, Copy)]
pub struct Folder {
    workspace: Workspace,
    /// The photos.
    pub batch: RwSignal<Batch>,
    files: StoredValue<HashMap<PhotoId, File>, LocalStorage>,
}

impl Folder {
    /// Creates an empty folder and reads its photos whenever the engine is ready.
    pub fn new(workspace: Workspace) -> Self {
        let folder = Self {
            workspace,
            batch: RwSignal::new(Batch::default()),
            files: StoredValue::new_local(HashMap::new()),
        };
        let controller = workspace.controller;
        Effect::new(move |_| {
            if folder.batch.with(Batch::can_start_next) && controller.is_ready() {
                folder.read_next();
            }
        });
        folder
    }

    /// Returns the controller that reads the photos.
    pub fn controller(self) -> AppController {
        self.workspace.controller
    }

    /// Starts with new photos, sorted by name as a person would (2 before 10), and drops the
    /// previous ones.
    pub fn begin(self, mut files: Vec<File>) {
        let collator = Collator::new(&Array::new(), &numeric());
        let compare = collator.compare();
        files.sort_by(|a, b| {
            let order = compare.call2(&JsValue::NULL, &a.name().into(), &b.name().into());
            let order = order.ok().and_then(|order| order.as_f64());
            order.unwrap_or(0.0).total_cmp(&0.0)
        });
        let named: Vec<(PhotoId, File)> = files
            .into_iter()
            .map(|file| (self.controller().next_id(), file))
            .collect();
        let batch = Batch::new(named.iter().map(|(id, file)| (*id, file.name())).collect());
        self.files.set_value(named.into_iter().collect());
        self.workspace.open.set(true);
        self.batch.set(batch);
        self.controller().dispatch(Event::LoadRequested);
    }

    /// Reads the next photo, unless one is being read.
    fn read_next(self) {
        let Some(id) = untrack(|| self.batch.try_update(Batch::start_next).flatten()) else {
            return;
        };
        let Some(file) = self.files.with_value(|files| files.get(&id).cloned()) else {
            return;
        };
        spawn_local(async move {
            let read = self.controller().read(id, &file, None).await;
            let outcome = read.map(|(answer, radius)| (answer.result, radius));
            self.batch
                .update(|batch| batch.record(id, outcome.map_err(|error| error.what)));
        });
    }

    fn show(self, id: PhotoId) {
        if let Some(file) = self.files.with_value(|files| files.get(&id).cloned()) {
            self.controller().set_photo(Ok((file, None)));
        }
    }
}

/// Returns the options of a collator that compares numbers in names by their value.
fn numeric() -> Object {
    let options = Object::new();
    // Cannot fail on a new object.
    let _ = Reflect::set(&options, &"numeric".into(), &JsValue::TRUE);
    options
}

/// The table.
#[component]
pub fn FolderTable() -> impl IntoView {
    let folder = expect_context::<Folder>();
    let workspace = use_workspace();
    let progress = Memo::new(move |_| folder.batch.with(Batch::progress));
    let has_photos = move || progress.get().1 > 0;
    let skipped = move || match folder.batch.with(|batch| batch.skipped) {
        0 => None,
        n => Some(format!(
            "{n} more photos were left out: at most {MAX_PHOTOS} are read at once."
        )),
    };
    let ids = Memo::new(move |_| {
        folder
            .batch
            .with(|batch| batch.items().iter().map(|item| item.id).collect::<Vec<_>>())
    });
    view! {
        <Show when=has_photos>
            <section class="sheet" aria-labelledby="folder-title" data-testid="folder">
                {head(folder, progress)}
                <p class="note">{skipped}</p>
                <div class="table-scroll" tabindex="0" role="group" aria-labelledby="folder-title">
                    <table class="table">
                        <thead>
                            <tr>
                                <th scope="col">"Photo"</th>
                                <th scope="col">"What it shows"</th>
                                <th scope="col">"Certainty"</th>
                                <th scope="col">"Path"</th>
                                <th scope="col" class="is-number">"Radius"</th>
                            </tr>
                        </thead>
                        <tbody>
                            <For each=move || ids.get() key=|id| *id let(id)>
                                <Line folder workspace id />
                            </For>
                        </tbody>
                    </table>
                </div>
            </section>
        </Show>
    }
}

/// The head of the table: the number of photos read, of how many, and the button that saves them.
fn head(folder: Folder, progress: Memo<(usize, usize)>) -> impl IntoView {
    let status = move || {
        let (done, all) = progress.get();
        if done < all {
            format!("{done} of {all} read")
        } else {
            format!("All {all} read")
        }
    };
    let csv = move |_| {
        let text = folder.batch.with_untracked(Batch::to_csv);
        save_text(&text, "espalier.csv", "text/csv");
    };
    view! {
        <div class="sheet-head">
            <h2 id="folder-title">"Your photos"</h2>
            <p class="note" role="status" data-testid="folder-progress">{status}</p>
            <progress
                class="bar"
                aria-label="Photos read"
                max=move || progress.get().1.to_string()
                value=move || progress.get().0.to_string()
            ></progress>
            <button class="button is-quiet" type="button" data-testid="csv" on:click=csv>
                "Save as CSV"
            </button>
        </div>
    }
}

/// One photo.
#[component]
fn Line(folder: Folder, workspace: Workspace, id: PhotoId) -> impl IntoView {
    let item = Memo::new(move |_| {
        folder
            .batch
            .with(|batch| batch.items().iter().find(|item| item.id == id).cloned())
    });
    let of = move |cell: fn(&Item) -> String| item.with(|item| item.as_ref().map(cell));
    let stop = move |item: &Item| item.result().map(|result| result.taxonomy.stop.clone());
    let choose = move |_| {
        folder.show(id);
        if let Some(stop) = item.with_untracked(|item| item.as_ref().and_then(stop)) {
            workspace.select(&stop);
        }
    };
    view! {
        <tr data-testid="folder-line">
            <th scope="row">
                <button class="linkish" type="button" on:click=choose>
                    {move || of(|item| item.name.clone())}
                </button>
            </th>
            <td>{move || of(stop_words)}</td>
            <td>{move || of(certainty)}</td>
            <td class="is-path">{move || of(|item| last_names(&item.path_names()))}</td>
            <td class="is-number">{move || of(radius_words)}</td>
        </tr>
    }
}

fn stop_words(item: &Item) -> String {
    match &item.status {
        ItemStatus::Waiting => "waiting".to_owned(),
        ItemStatus::Reading => "reading…".to_owned(),
        ItemStatus::Failed(reason) => reason.clone(),
        ItemStatus::Read { .. } => {
            let stop = item.supported().last();
            stop.map_or_else(String::new, |stop| stop.name.clone())
        }
    }
}

fn certainty(item: &Item) -> String {
    let stop = item.supported().last();
    stop.map_or_else(String::new, |stop| how_sure(stop.p).to_owned())
}

fn radius_words(item: &Item) -> String {
    match &item.status {
        ItemStatus::Read { radius, .. } => format!("{radius:.3}"),
        _ => String::new(),
    }
}

/// Formats the last steps of a path; the first ones are the same for every photo.
fn last_names(names: &[&str]) -> String {
    const LAST: usize = 4;
    let from = names.len().saturating_sub(LAST);
    let dots = if from > 0 { "… › " } else { "" };
    format!("{dots}{}", names[from..].join(" › "))
}
