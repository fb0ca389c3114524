//! Answers queries in the worker, from the embeddings of the photos that it has read, the text
//! encoder once loaded, the visitor's own tree, and the disk.

use std::collections::HashMap;

use burn::tensor::Device;
use espalier_core::caption::{
    Calibration, Classifier, Question, TaxonomyResult, TextEmbedder, node_embeddings, place_text,
};
use espalier_core::geometry::Space;
use espalier_core::project::Disk;
use espalier_core::taxonomy::{Lexicon, Taxonomy};

use super::photo_store::PhotoStore;
use crate::load::bundle::RemoteModel;
use crate::load::text;
use crate::messages::ask::{Ask, AskAnswer, Step, Which};
use crate::messages::photo_id::PhotoId;
use crate::ui_error::{Cause, UiError};

/// Hyperbolic distance from the centre at which the farthest node is drawn.
const REACH: f64 = 3.0;

/// Number of points of a walk.
const STEPS: usize = 41;

/// Maximum number of names in a visitor's own tree.
const MOST_NAMES: usize = 3_000;

/// Number of names embedded per batch; progress is reported after each.
const NAMES_AT_ONCE: usize = 8;

/// A taxonomy with the embeddings of its nodes.
struct Tree {
    classifier: Classifier,
    /// One embedding per node; `None` if no text describes the node.
    points: Vec<Option<Vec<f32>>>,
}

/// The data needed to answer queries, apart from the photos on the `PhotoStore`.
pub struct QueryHandler {
    found: RemoteModel,
    device: Device,
    texts: Option<TextEmbedder>,
    own: Option<Tree>,
    disks: HashMap<Which, Disk>,
}

fn ui_error(error: espalier_core::CoreError) -> UiError {
    UiError::from(&error)
}

impl QueryHandler {
    /// Creates a query handler for a model on a device.
    pub fn new(found: RemoteModel, device: Device) -> Self {
        Self {
            found,
            device,
            texts: None,
            own: None,
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
        ask: Ask,
        photo: &[u8],
        report: impl FnMut(u64, u64),
    ) -> Result<AskAnswer, UiError> {
        match ask {
            Ask::Read { photo: id, region } => {
                let json = photo_store.read(id, photo, region).await?;
                let radius = photo_store
                    .captioner()
                    .space()
                    .radius(photo_store.point(id)?);
                Ok(AskAnswer::Read { json, radius })
            }
            Ask::Placement { photo, tree, below } => {
                self.place(photo_store, photo, tree, below.as_deref())
            }
            Ask::TextTower => {
                self.text_tower(report).await?;
                Ok(AskAnswer::TextTower)
            }
            Ask::WhyNot {
                photo,
                tree,
                phrase,
            } => self.why_not(photo_store, photo, tree, phrase, report).await,
            Ask::Plant { text } => self.plant(photo_store, &text, report).await,
            Ask::Disk { tree, photos } => self.draw(photo_store, tree, &photos),
            Ask::Walk { from, to, tree } => self.walk(photo_store, from, to, tree),
        }
    }

    fn classifier<'a>(
        &'a self,
        photo_store: &'a PhotoStore,
        tree: Which,
    ) -> Result<&'a Classifier, UiError> {
        match (tree, &self.own) {
            (Which::Bundle, _) => Ok(photo_store.captioner().classifier()),
            (Which::Own, Some(own)) => Ok(&own.classifier),
            (Which::Own, None) => Err(UiError::forgotten_tree()),
        }
    }

    fn place(
        &self,
        photo_store: &PhotoStore,
        photo: PhotoId,
        tree: Which,
        below: Option<&str>,
    ) -> Result<AskAnswer, UiError> {
        let (classifier, space) = (
            self.classifier(photo_store, tree)?,
            photo_store.captioner().space(),
        );
        let taxonomy = classifier.taxonomy();
        let point = photo_store.point(photo)?;
        let place = classifier.place(space, point, below.and_then(|id| taxonomy.find(id)));
        Ok(AskAnswer::Placement {
            path: TaxonomyResult::of(taxonomy, &place.path),
            p: place.p,
            radius: space.radius(point),
            factors: match space {
                Space::Product { .. } => space.radii(point),
                _ => Vec::new(),
            },
        })
    }

    async fn text_tower(&mut self, report: impl FnMut(u64, u64)) -> Result<&TextEmbedder, UiError> {
        if self.texts.is_none() {
            let files = text::load(&self.found, report).await?;
            let texts =
                TextEmbedder::open(&self.found.manifest, &files, &self.device).map_err(ui_error)?;
            self.texts = Some(texts);
        }
        self.texts.as_ref().ok_or_else(UiError::no_text_tower)
    }

    async fn why_not(
        &mut self,
        photo_store: &PhotoStore,
        photo: PhotoId,
        tree: Which,
        phrase: String,
        report: impl FnMut(u64, u64),
    ) -> Result<AskAnswer, UiError> {
        let texts = self.text_tower(report).await?;
        let point = texts.embed(&[&phrase]).await.map_err(ui_error)?.remove(0);
        let nodes = self.points(photo_store, tree)?;
        let classifier = self.classifier(photo_store, tree)?;
        let (taxonomy, space) = (classifier.taxonomy(), photo_store.captioner().space());
        let nothing = Lexicon::default();
        let lexicon = self.texts.as_ref().map_or(&nothing, TextEmbedder::lexicon);
        let question = Question {
            phrase: &point,
            photo: photo_store.point(photo)?,
            place: place_text(taxonomy, space, lexicon, &phrase, &point, &nodes),
        };
        let verdict = photo_store.captioner().explain(classifier, question);
        Ok(AskAnswer::WhyNot { phrase, verdict })
    }

    async fn plant(
        &mut self,
        photo_store: &PhotoStore,
        text: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<AskAnswer, UiError> {
        let taxonomy = Taxonomy::from_text(text).map_err(|e| UiError::bad_tree(&e.to_string()))?;
        let all = taxonomy.nodes().len();
        if all > MOST_NAMES {
            return Err(UiError::bad_tree(&format!(
                "it has {all} names; at most {MOST_NAMES} are read"
            )));
        }
        let texts = self.text_tower(&mut report).await?;
        let names: Vec<&str> = taxonomy
            .nodes()
            .iter()
            .map(|n| n.names[0].as_str())
            .collect();
        let mut points = Vec::with_capacity(all);
        for names in names.chunks(NAMES_AT_ONCE) {
            points.extend(texts.concepts(names).await.map_err(ui_error)?);
            report(points.len() as u64, all as u64);
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
        self.own = Some(Tree { classifier, points });
        self.disks.remove(&Which::Own);
        Ok(AskAnswer::Planted { tsv })
    }

    /// Returns the embeddings of a taxonomy's nodes. In the bundle's taxonomy, a node that is not a
    /// label has the embedding of the first caption that is just a name of it.
    fn points(
        &self,
        photo_store: &PhotoStore,
        tree: Which,
    ) -> Result<Vec<Option<Vec<f32>>>, UiError> {
        if let (Which::Own, Some(own)) = (tree, &self.own) {
            return Ok(own.points.clone());
        }
        let classifier = self.classifier(photo_store, tree)?;
        Ok(node_embeddings(classifier, photo_store.captioner().index()))
    }

    fn disk(&mut self, photo_store: &PhotoStore, tree: Which) -> Result<Disk, UiError> {
        if let Some(disk) = self.disks.get(&tree) {
            return Ok(disk.clone());
        }
        let points = self.points(photo_store, tree)?;
        let known: Vec<&[f32]> = points.iter().flatten().map(Vec::as_slice).collect();
        let disk = Disk::find(photo_store.captioner().space(), &known, REACH);
        self.disks.insert(tree, disk.clone());
        Ok(disk)
    }

    fn draw(
        &mut self,
        photo_store: &PhotoStore,
        tree: Which,
        photos: &[PhotoId],
    ) -> Result<AskAnswer, UiError> {
        let disk = self.disk(photo_store, tree)?;
        let space = photo_store.captioner().space();
        let nodes = self.points(photo_store, tree)?;
        Ok(AskAnswer::Disk {
            nodes: nodes
                .iter()
                .map(|point| point.as_ref().map(|x| disk.put(space, x)))
                .collect(),
            photos: photos
                .iter()
                .map(|id| photo_store.point(*id).ok().map(|x| disk.put(space, x)))
                .collect(),
            kept: disk.kept,
        })
    }

    fn walk(
        &mut self,
        photo_store: &PhotoStore,
        from: PhotoId,
        to: Option<PhotoId>,
        tree: Which,
    ) -> Result<AskAnswer, UiError> {
        let disk = self.disk(photo_store, tree)?;
        let from = photo_store.point(from)?;
        let to = to.map(|to| photo_store.point(to)).transpose()?;
        let steps = photo_store.captioner().walk(from, to, STEPS);
        let place = |passed: espalier_core::caption::TraversalPoint| Step {
            at: disk.put(photo_store.captioner().space(), &passed.point),
            passed,
        };
        Ok(AskAnswer::Walk {
            steps: steps.into_iter().map(place).collect(),
        })
    }
}

/// Returns whether the worker can no longer be used after this error.
#[must_use]
pub fn is_fatal(error: &UiError) -> bool {
    matches!(error.cause, Cause::Gpu | Cause::Engine)
}
