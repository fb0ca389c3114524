//! The concepts that the visitor taught: kept in this browser, and sent to every engine that starts.

use std::sync::Arc;

use espalier_core::caption::{ModelInfo, TaughtCheck, TaughtConcept, TaughtFile};
use espalier_core::taxonomy::Taxonomy;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::File;

use crate::messages::query::{PhotoId, Query, QueryAnswer};
use crate::save::{store, stored};
use crate::state::session::Engine;
use crate::ui_error::UiError;
use crate::workspace::Workspace;

/// Returns the key of a model's concepts in the browser's storage, which the widget reads, too. Each
/// model has its own, so that names taught to one never replace those of another.
fn key(model: &ModelInfo) -> String {
    format!("espalier-taught-{}", model.sha256)
}

/// The taught concepts; cheap to copy.
#[derive(Clone, Copy)]
pub struct Taught {
    workspace: Workspace,
    /// The concepts.
    pub concepts: RwSignal<Vec<TaughtConcept>>,
    /// The error of the last file or of the stored concepts.
    pub error: RwSignal<Option<UiError>>,
    /// The model that is loaded.
    model: Memo<Option<ModelInfo>>,
}

impl Taught {
    /// Creates the list, and teaches the stored concepts to every engine that becomes ready.
    pub fn new(workspace: Workspace) -> Self {
        let session = workspace.controller.session;
        let model = Memo::new(move |_| {
            session.with(|session| match &session.engine {
                Engine::Ready(info) => Some(ModelInfo {
                    name: info.model.clone(),
                    version: info.version.clone(),
                    sha256: info.sha256.clone(),
                }),
                _ => None,
            })
        });
        let taught = Self {
            workspace,
            concepts: RwSignal::new(Vec::new()),
            error: RwSignal::new(None),
            model,
        };
        Effect::new(move |_| {
            let Some(model) = model.get() else { return };
            let Some(text) = stored(&key(&model)) else {
                return;
            };
            if let Ok(file) = TaughtFile::parse(&text, &model) {
                spawn_local(async move { taught.apply(file.concepts).await });
            }
        });
        taught
    }

    /// Returns whether a node is a taught one.
    pub fn knows(self, id: &str) -> bool {
        self.concepts
            .with(|all| all.iter().any(|concept| concept.id() == id))
    }

    /// Returns the concepts as a file; `None` before a model is loaded.
    pub fn file(self) -> Option<String> {
        let model = self.model.get_untracked()?;
        let file = TaughtFile::new(model, self.concepts.get_untracked());
        serde_json::to_string(&file).ok()
    }

    /// Teaches a name by photos, those that were read and further files, in place of an earlier one of
    /// this name. It lies below the node `below` of the shown tree.
    ///
    /// # Errors
    /// When a photo cannot be read, or the name is invalid.
    pub async fn learn(
        self,
        name: String,
        below: String,
        mut photos: Vec<PhotoId>,
        files: Vec<File>,
    ) -> Result<TaughtCheck, UiError> {
        let controller = self.workspace.controller;
        let tree = self.workspace.tree_source.get_untracked();
        for file in &files {
            let photo = controller.next_id();
            controller.read(photo, file, None).await?;
            photos.push(photo);
        }
        let query = Query::Learn {
            name,
            below,
            tree,
            photos,
        };
        let QueryAnswer::Learned { concept, check } = controller.ask_about(query).await? else {
            return Err(UiError::other_answer());
        };
        self.teach(self.with(vec![concept])).await?;
        Ok(check)
    }

    /// Adds the concepts of a file, or shows why that is not possible.
    pub async fn open(self, text: String) {
        let Some(model) = self.model.get_untracked() else {
            return;
        };
        match TaughtFile::parse(&text, &model) {
            Err(error) => self.error.set(Some(UiError::bad_concepts(error))),
            Ok(file) => self.apply(self.with(file.concepts)).await,
        }
    }

    /// Returns the concepts with these, each in place of an earlier one of its id.
    fn with(self, new: Vec<TaughtConcept>) -> Vec<TaughtConcept> {
        let mut all = self.concepts.get_untracked();
        all.retain(|known| new.iter().all(|new| new.id() != known.id()));
        all.extend(new);
        all
    }

    /// Forgets a concept.
    pub fn remove(self, id: &str) {
        let mut all = self.concepts.get_untracked();
        all.retain(|concept| concept.id() != id);
        spawn_local(async move { self.apply(all).await });
    }

    /// Teaches these concepts instead of the present ones, or shows why that is not possible.
    async fn apply(self, concepts: Vec<TaughtConcept>) {
        let outcome = self.teach(concepts).await;
        self.error.set(outcome.err());
    }

    /// Teaches these concepts instead of the present ones, and stores them.
    async fn teach(self, concepts: Vec<TaughtConcept>) -> Result<(), UiError> {
        let workspace = self.workspace;
        let query = Query::Teach {
            concepts: concepts.clone(),
        };
        let QueryAnswer::Taught { bundle, own } = workspace.controller.ask_about(query).await?
        else {
            return Err(UiError::other_answer());
        };
        self.concepts.set(concepts);
        let is_empty = self.concepts.with_untracked(Vec::is_empty);
        if let Some(model) = self.model.get_untracked() {
            store(&key(&model), self.file().filter(|_| !is_empty).as_deref());
        }
        if let Some(own) = own {
            let own = Taxonomy::from_tsv(&own)?;
            workspace.visitor_tree.set(Some(Arc::new(own)));
        }
        let bundle = Taxonomy::from_tsv(&bundle)?;
        workspace.tree.set(Some(Ok(Arc::new(bundle))));
        Ok(())
    }
}
