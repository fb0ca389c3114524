//! Answers queries in the worker, from the embeddings of the photos that it has read, the text
//! encoder once loaded, the visitor's tree, and the disk.

use std::collections::HashMap;

use espalier_core::CoreError;
use espalier_core::caption::{
    Calibration, Classifier, Engine, Question, TaxonomyResult, TextEmbedder, node_embeddings,
    place_text,
};
use espalier_core::geometry::Space;
use espalier_core::project::Disk;
use espalier_core::taxonomy::{Lexicon, Taxonomy};

use super::photo_store::PhotoStore;
use crate::load::bundle::RemoteModel;
use crate::load::text;
use crate::messages::photo_id::PhotoId;
use crate::messages::query::{Query, QueryAnswer, TreeSource, WalkStep};
use crate::ui_error::{Cause, UiError};

/// Hyperbolic distance from the centre at which the farthest node is drawn.
const MAX_DISTANCE: f64 = 3.0;

/// Number of points of a walk.
const WALK_STEPS: usize = 41;

/// Maximum number of names in a visitor's tree.
const MAX_NAMES: usize = 3_000;

/// Number of names embedded per batch; progress is reported after each.
const NAME_BATCH: usize = 8;

/// A taxonomy with the embeddings of its nodes.
struct Tree {
    classifier: Classifier,
    /// One embedding per node; `None` if no text describes the node.
    points: Vec<Option<Vec<f32>>>,
}

/// The data needed to answer queries, apart from the photos in the `PhotoStore`.
pub struct QueryHandler {
    model: RemoteModel,
    engine: Engine,
    text_embedder: Option<TextEmbedder>,
    visitor_tree: Option<Tree>,
    disks: HashMap<TreeSource, Disk>,
}

fn ui_error(error: CoreError) -> UiError {
    UiError::from(&error)
}

impl QueryHandler {
    /// Creates a query handler for a model on an engine.
    pub fn new(model: RemoteModel, engine: Engine) -> Self {
        Self {
            model,
            engine,
            text_embedder: None,
            visitor_tree: None,
            disks: HashMap::new(),
        }
    }

    /// Answers a query. `photo` holds the bytes that came with it; `report` receives the bytes that
    /// have arrived and the total.
    ///
    /// # Errors
    /// The error to show to the visitor.
    pub async fn answer(
        &mut self,
        photo_store: &mut PhotoStore,
        query: Query,
        photo: &[u8],
        report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        match query {
            Query::Read { photo: id, region } => {
                let json = photo_store.read(id, photo, region).await?;
                let radius = photo_store
                    .captioner()
                    .space()
                    .radius(photo_store.point(id)?);
                Ok(QueryAnswer::Read { json, radius })
            }
            Query::Place { photo, tree, below } => {
                self.place(photo_store, photo, tree, below.as_deref())
            }
            Query::TextEncoder => {
                self.text_encoder(report).await?;
                Ok(QueryAnswer::TextEncoder)
            }
            Query::WhyNot {
                photo,
                tree,
                phrase,
            } => self.why_not(photo_store, photo, tree, phrase, report).await,
            Query::EmbedTree { text } => self.embed_tree(photo_store, &text, report).await,
            Query::Disk { tree, photos } => self.disk_positions(photo_store, tree, &photos),
            Query::Walk { from, to, tree } => self.walk(photo_store, from, to, tree),
        }
    }

    fn classifier<'a>(
        &'a self,
        photo_store: &'a PhotoStore,
        tree: TreeSource,
    ) -> Result<&'a Classifier, UiError> {
        match (tree, &self.visitor_tree) {
            (TreeSource::Bundle, _) => Ok(photo_store.captioner().classifier()),
            (TreeSource::Own, Some(own)) => Ok(&own.classifier),
            (TreeSource::Own, None) => Err(UiError::forgotten_tree()),
        }
    }

    fn place(
        &self,
        photo_store: &PhotoStore,
        photo: PhotoId,
        tree: TreeSource,
        below: Option<&str>,
    ) -> Result<QueryAnswer, UiError> {
        let (classifier, space) = (
            self.classifier(photo_store, tree)?,
            photo_store.captioner().space(),
        );
        let taxonomy = classifier.taxonomy();
        let point = photo_store.point(photo)?;
        let place = classifier.place(space, point, below.and_then(|id| taxonomy.find(id)));
        Ok(QueryAnswer::Place {
            path: TaxonomyResult::of(taxonomy, &place.path),
            p: place.p,
            radius: space.radius(point),
            factors: match space {
                Space::Product { .. } => space.radii(point),
                _ => Vec::new(),
            },
        })
    }

    async fn text_encoder(
        &mut self,
        report: impl FnMut(u64, u64),
    ) -> Result<&TextEmbedder, UiError> {
        if self.text_embedder.is_none() {
            let files = text::load(&self.model, report).await?;
            let embedder = TextEmbedder::open(&self.model.manifest, &files, &self.engine);
            self.text_embedder = Some(embedder.map_err(ui_error)?);
        }
        self.text_embedder
            .as_ref()
            .ok_or_else(UiError::no_text_encoder)
    }

    async fn why_not(
        &mut self,
        photo_store: &PhotoStore,
        photo: PhotoId,
        tree: TreeSource,
        phrase: String,
        report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let encoder = self.text_encoder(report).await?;
        let point = encoder.embed(&[&phrase]).await.map_err(ui_error)?.remove(0);
        let nodes = self.points(photo_store, tree)?;
        let classifier = self.classifier(photo_store, tree)?;
        let (taxonomy, space) = (classifier.taxonomy(), photo_store.captioner().space());
        let no_nouns = Lexicon::default();
        let lexicon = self
            .text_embedder
            .as_ref()
            .map_or(&no_nouns, TextEmbedder::lexicon);
        let question = Question {
            phrase: &point,
            photo: photo_store.point(photo)?,
            place: place_text(taxonomy, space, lexicon, &phrase, &point, &nodes),
            nodes: &nodes,
        };
        let verdict = photo_store.captioner().explain(classifier, question);
        Ok(QueryAnswer::WhyNot { phrase, verdict })
    }

    async fn embed_tree(
        &mut self,
        photo_store: &PhotoStore,
        text: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let taxonomy = Taxonomy::from_text(text).map_err(|e| UiError::bad_tree(&tree_fault(&e)))?;
        let count = taxonomy.nodes().len();
        if count > MAX_NAMES {
            return Err(UiError::bad_tree(&format!(
                "it has {count} names; at most {MAX_NAMES} are read"
            )));
        }
        let encoder = self.text_encoder(&mut report).await?;
        let names: Vec<&str> = taxonomy
            .nodes()
            .iter()
            .map(|n| n.names[0].as_str())
            .collect();
        let mut points = Vec::with_capacity(count);
        for names in names.chunks(NAME_BATCH) {
            points.extend(encoder.embed_concepts(names).await.map_err(ui_error)?);
            report(points.len() as u64, count as u64);
        }
        let labels = taxonomy.labelled().iter();
        let labels: Vec<f32> = labels.flat_map(|ix| points[ix.index()].clone()).collect();
        let width = points.first().map_or(0, Vec::len);
        // The levels are calibrated for the depths of the bundle's own tree.
        let calibration = Calibration {
            levels: Vec::new(),
            ..photo_store.captioner().classifier().calibration().clone()
        };
        let tsv = taxonomy.to_tsv();
        let classifier = Classifier::new(taxonomy, labels, width, calibration).map_err(ui_error)?;
        let points = points.into_iter().map(Some).collect();
        self.visitor_tree = Some(Tree { classifier, points });
        self.disks.remove(&TreeSource::Own);
        Ok(QueryAnswer::TreeEmbedded { tsv })
    }

    /// Returns the embeddings of a taxonomy's nodes. In the bundle's taxonomy, a node that is not a
    /// label has the embedding of the first caption that is just a name of it.
    fn points(
        &self,
        photo_store: &PhotoStore,
        tree: TreeSource,
    ) -> Result<Vec<Option<Vec<f32>>>, UiError> {
        if let (TreeSource::Own, Some(own)) = (tree, &self.visitor_tree) {
            return Ok(own.points.clone());
        }
        let classifier = self.classifier(photo_store, tree)?;
        Ok(node_embeddings(classifier, photo_store.captioner().index()))
    }

    fn disk(&mut self, photo_store: &PhotoStore, tree: TreeSource) -> Result<Disk, UiError> {
        if let Some(disk) = self.disks.get(&tree) {
            return Ok(disk.clone());
        }
        let points = self.points(photo_store, tree)?;
        let known: Vec<&[f32]> = points.iter().flatten().map(Vec::as_slice).collect();
        let disk = Disk::fit(photo_store.captioner().space(), &known, MAX_DISTANCE);
        self.disks.insert(tree, disk.clone());
        Ok(disk)
    }

    fn disk_positions(
        &mut self,
        photo_store: &PhotoStore,
        tree: TreeSource,
        photos: &[PhotoId],
    ) -> Result<QueryAnswer, UiError> {
        let disk = self.disk(photo_store, tree)?;
        let space = photo_store.captioner().space();
        let nodes = self.points(photo_store, tree)?;
        Ok(QueryAnswer::Disk {
            nodes: nodes
                .iter()
                .map(|point| point.as_ref().map(|x| disk.project(space, x)))
                .collect(),
            photos: photos
                .iter()
                .map(|id| photo_store.point(*id).ok().map(|x| disk.project(space, x)))
                .collect(),
            explained: disk.explained,
        })
    }

    fn walk(
        &mut self,
        photo_store: &PhotoStore,
        from: PhotoId,
        to: Option<PhotoId>,
        tree: TreeSource,
    ) -> Result<QueryAnswer, UiError> {
        let disk = self.disk(photo_store, tree)?;
        let from = photo_store.reading(from)?;
        let to = to.map(|to| photo_store.reading(to)).transpose()?;
        let steps = photo_store.captioner().walk(from, to, WALK_STEPS);
        let place = |point: espalier_core::caption::TraversalPoint| WalkStep {
            position: disk.project(photo_store.captioner().space(), &point.point),
            point,
        };
        Ok(QueryAnswer::Walk {
            steps: steps.into_iter().map(place).collect(),
        })
    }
}

/// Describes why a visitor's text is no tree, with the line.
fn tree_fault(error: &CoreError) -> String {
    match error {
        CoreError::Taxonomy { line: 0, reason } => reason.clone(),
        CoreError::Taxonomy { line, reason } => format!("line {line}: {reason}"),
        other => other.to_string(),
    }
}

/// Returns whether the worker can no longer be used after this error.
#[must_use]
pub fn is_fatal(error: &UiError) -> bool {
    matches!(error.cause, Cause::Gpu | Cause::Engine)
}
