//! State beyond the first answer: the trees, the photo's place in them, the dial and the photos
//! seen so far. Holds the signals that components share, and sends the queries that fill them.

use std::sync::Arc;

use espalier_core::caption::{CaptionResult, TaxonomyResult};
use espalier_core::taxonomy::{Lexicon, Taxonomy};
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::controller::AppController;
use crate::load::tree;
use crate::messages::query::{PhotoId, Place, Query, QueryAnswer, TreeSource};
use crate::state::dial::Dial;
use crate::state::link::{HASH_DIGITS, Link};
use crate::state::outline::Outline;
use crate::state::session::{Answer, Work};
use crate::ui_error::UiError;

/// The photo, and its place in the displayed tree.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedPhoto {
    /// The photo.
    pub photo: PhotoId,
    /// The tree.
    pub tree: TreeSource,
    /// Its place in the tree.
    pub place: Place,
}

/// A photo that the engine has read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPhoto {
    /// Its number.
    pub id: PhotoId,
    /// Name of its file.
    pub name: String,
}

/// The shared signals; cheap to copy.
#[derive(Clone, Copy)]
pub struct Workspace {
    /// The controller that it belongs to.
    pub controller: AppController,
    /// Nouns that name no node of the model's tree; empty until [`load_nouns`](Self::load_nouns).
    pub nouns: RwSignal<Arc<Lexicon>>,
    /// The model's tree, or the error of its load; `None` before the load ends.
    pub tree: RwSignal<Option<Result<Arc<Taxonomy>, UiError>>>,
    /// The visitor's tree.
    pub visitor_tree: RwSignal<Option<Arc<Taxonomy>>>,
    /// Which of the two trees is shown.
    pub tree_source: RwSignal<TreeSource>,
    /// The outline of the shown tree.
    pub outline: RwSignal<Outline>,
    /// Id of the selected node.
    pub selected: RwSignal<Option<String>>,
    /// Id of the node whose labels are considered; `None` means all labels.
    pub below: RwSignal<Option<String>>,
    /// The place of the photo in the shown tree.
    pub placed: RwSignal<Option<Arc<PlacedPhoto>>>,
    /// Level of the dial; `None` means the level where the evidence stops.
    pub level: RwSignal<Option<usize>>,
    /// Photos that the engine has read, oldest first.
    pub seen: RwSignal<Vec<SeenPhoto>>,
    /// Whether the workspace is shown before there is a photo.
    pub open: RwSignal<bool>,
    /// The parsed query of the page's address.
    pub link: StoredValue<Link>,
}

/// Maximum length of the list of seen photos.
const MAX_SEEN: usize = 12;

impl Workspace {
    /// Creates the workspace of a controller from the page's link.
    pub fn new(controller: AppController, link: Link) -> Self {
        let workspace = Self {
            controller,
            nouns: RwSignal::default(),
            tree: RwSignal::new(None),
            visitor_tree: RwSignal::new(None),
            tree_source: RwSignal::new(TreeSource::Bundle),
            outline: RwSignal::new(Outline::default()),
            selected: RwSignal::new(link.node.clone()),
            below: RwSignal::new(None),
            placed: RwSignal::new(None),
            level: RwSignal::new(None),
            seen: RwSignal::new(Vec::new()),
            open: RwSignal::new(link.node.is_some() && link.sample.is_none()),
            link: StoredValue::new(link),
        };
        workspace.follow();
        workspace
    }

    /// Returns the shown tree.
    pub fn shown(self) -> Option<Arc<Taxonomy>> {
        match self.tree_source.get() {
            TreeSource::Own => self.visitor_tree.get(),
            TreeSource::Bundle => self.tree.with(|tree| tree.clone()?.ok()),
        }
    }

    /// Returns the dial of a result, which always refers to the model's own tree.
    pub fn dial(self, taxonomy: &TaxonomyResult) -> Dial {
        self.tree.with(|tree| {
            let tree = tree.as_ref().and_then(|tree| tree.as_ref().ok());
            Dial::of(taxonomy, tree.map(Arc::as_ref))
        })
    }

    /// Returns the dial that moves along the captions of a result.
    pub fn dial_of(self, result: &CaptionResult) -> Dial {
        Dial::of_ladder(result).unwrap_or_else(|| self.dial(&result.taxonomy))
    }

    /// Returns the dial of a path in the shown tree.
    pub fn shown_dial(self, path: &TaxonomyResult) -> Dial {
        Dial::of(path, self.shown().as_deref())
    }

    /// Returns the path of an answer in the shown tree. It differs from that of the result if the
    /// visitor's tree is shown, or only some concepts are considered.
    pub fn shown_path(self, answer: &Answer) -> TaxonomyResult {
        let source = self.tree_source.get();
        self.placed.with(|placed| {
            let placed = placed.as_ref();
            let placed = placed.filter(|p| p.photo == answer.photo && p.tree == source);
            let path = placed.map(|placed| &placed.place.path);
            path.unwrap_or(&answer.result.taxonomy).clone()
        })
    }

    /// Returns the displayed answer.
    pub fn answer(self) -> Option<Arc<Answer>> {
        self.controller.session.with(|session| match &session.work {
            Work::Done(answer) => Some(Arc::clone(answer)),
            _ => None,
        })
    }

    /// Selects a node in the tree: expands the path to it and moves the focus there.
    pub fn select(self, id: &str) {
        self.selected.set(Some(id.to_owned()));
        if let Some(tree) = untrack(|| self.shown())
            && let Some(ix) = tree.find(id)
        {
            self.outline
                .update(|outline| outline.reveal(tree.path_to(ix)));
        }
    }

    /// Selects a node of the model's tree and scrolls the tree into view.
    pub fn show(self, id: &str) {
        self.tree_source.set(TreeSource::Bundle);
        self.select(id);
        let title = document().get_element_by_id("tree-title");
        if let Some(title) = title {
            title.scroll_into_view();
        }
    }

    /// Switches the shown tree.
    pub fn switch_tree(self, source: TreeSource) {
        if self.tree_source.get_untracked() == source {
            return;
        }
        self.below.set(None);
        self.selected.set(None);
        // The levels of one tree mean nothing in the other.
        self.level.set(None);
        self.placed.set(None);
        self.tree_source.set(source);
        if let Some(tree) = untrack(|| self.shown()) {
            self.outline.set(Outline::new(&tree));
        }
    }

    /// Fetches the model's tree, unless it is already loaded.
    pub fn load_tree(self) {
        if self.tree.with_untracked(|tree| matches!(tree, Some(Ok(_)))) {
            return;
        }
        let manifest = self.controller.manifest_url();
        spawn_local(async move {
            let loaded = tree::load(&manifest).await.map(Arc::new);
            if let Ok(tree) = &loaded
                && self.tree_source.get_untracked() == TreeSource::Bundle
            {
                self.outline.set(Outline::new(tree));
            }
            self.tree.set(Some(loaded));
            if let Some(id) = self.selected.get_untracked() {
                self.select(&id);
            }
        });
    }

    /// Fetches the nouns, unless they are already loaded. Without them the search finds fewer words.
    pub fn load_nouns(self) {
        if !self.nouns.with_untracked(|nouns| nouns.is_empty()) {
            return;
        }
        let manifest = self.controller.manifest_url();
        spawn_local(async move {
            if let Ok(nouns) = tree::load_nouns(&manifest).await {
                self.nouns.set(Arc::new(nouns));
            }
        });
    }

    /// Returns the address of this page with a link in it.
    pub fn address(self, link: &Link) -> String {
        format!("{}{}", self.controller.base(), link.to_query())
    }

    /// Returns a link to the current view: node, sample, dial and the model. Never a photo.
    pub fn link(self) -> Link {
        let photo = self.controller.photo.get();
        let answer = self.answer();
        let opened = self.link.get_value();
        Link {
            backend: opened.backend,
            models: opened.models,
            made_with: answer.map(|answer| {
                let sha256 = &answer.result.model.sha256;
                sha256[..HASH_DIGITS.min(sha256.len())].to_owned()
            }),
            node: self.selected.get(),
            sample: photo.and_then(|photo| photo.sample.clone()),
            level: self.level.get(),
        }
    }

    /// Keeps the signals in sync with the session.
    fn follow(self) {
        // The tree is needed as soon as there is a photo, or when the workspace is opened.
        Effect::new(move |_| {
            let session = self.controller.session;
            if session.with(|session| session.work.is_some()) || self.open.get() {
                self.load_tree();
            }
        });
        let done = Memo::new(move |_| self.answer().map(|answer| answer.photo));
        Effect::new(move |_| {
            let Some(photo) = done.get() else { return };
            let link = self.link.get_value();
            self.level.set(link.level);
            self.below.set(None);
            // The link's level and node apply to its first photo only.
            self.link.update_value(|link| {
                link.level = None;
                link.node = None;
            });
            let name = self
                .controller
                .photo
                .with_untracked(|photo| photo.as_ref().map(|p| p.file.name()));
            self.seen.update(|seen| {
                let name = name.unwrap_or_default();
                seen.retain(|other| other.id != photo);
                seen.push(SeenPhoto { id: photo, name });
                let surplus = seen.len().saturating_sub(MAX_SEEN);
                seen.drain(..surplus);
            });
            if link.node.is_none() {
                self.selected.set(None);
            }
        });
        Effect::new(move |_| {
            let (photo, tree, below) = (done.get(), self.tree_source.get(), self.below.get());
            // Runs again when the tree arrives, so that the outline is updated.
            let ready = self.shown().is_some();
            let Some(photo) = photo else {
                self.placed.set(None);
                return;
            };
            if ready {
                self.ask_place(photo, tree, below);
            }
        });
    }

    fn ask_place(self, photo: PhotoId, tree: TreeSource, below: Option<String>) {
        let query = Query::Place { photo, tree, below };
        spawn_local(async move {
            let answer = self.controller.ask_about(query).await;
            if let Ok(QueryAnswer::Place(place)) = answer
                && self.tree_source.get_untracked() == tree
            {
                self.show_path(&place.path);
                let placed = PlacedPhoto { photo, tree, place };
                self.placed.set(Some(Arc::new(placed)));
            }
        });
    }

    /// Expands only the photo's path and moves the focus to its stop. A selected node stays
    /// visible.
    fn show_path(self, path: &TaxonomyResult) {
        let Some(tree) = untrack(|| self.shown()) else {
            return;
        };
        let nodes: Option<Vec<_>> = path.path.iter().map(|step| tree.find(&step.id)).collect();
        let stop = path.path.iter().position(|step| step.id == path.stop);
        if let Some(nodes) = nodes.filter(|nodes| !nodes.is_empty()) {
            self.outline
                .update(|outline| outline.show_only(&nodes, stop.unwrap_or(0)));
        }
        if let Some(id) = self.selected.get_untracked() {
            self.select(&id);
        }
    }
}

/// Returns the workspace of the current component.
///
/// # Panics
/// Never on this page: `app::start` provides it to every component.
pub fn use_workspace() -> Workspace {
    expect_context::<Workspace>()
}
