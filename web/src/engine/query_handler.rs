//! Answers queries in the worker, from the embeddings of the photos that it has read, the text
//! encoder once loaded, the visitor's tree, and the disk.

use std::collections::HashMap;

use espalier_core::caption::{
    Calibration, Claim, Classifier, Engine, MIN_TEXT_COSINE, Occlusions, Photo, Question,
    TaughtConcept, TaxonomyResult, TextEmbedder, TraversalPoint, node_embeddings, place_text,
};
use espalier_core::geometry::Space;
use espalier_core::project::Disk;
use espalier_core::taxonomy::Lexicon;

use super::photo_store::PhotoStore;
use super::visitor_tree::VisitorTree;
use crate::load::bundle::RemoteModel;
use crate::load::text;
use crate::messages::photo_id::PhotoId;
use crate::messages::protocol::Response;
use crate::messages::query::{Query, QueryAnswer, TreeSource, WalkStep};
use crate::ui_error::{Cause, UiError};

/// Hyperbolic distance from the centre at which the farthest node is drawn.
const MAX_DISTANCE: f64 = 3.0;

/// Number of points of a walk.
const WALK_STEPS: usize = 41;

/// The data needed to answer queries, apart from the photos in the `PhotoStore`.
pub struct QueryHandler {
    model: RemoteModel,
    engine: Engine,
    text_embedder: Option<TextEmbedder>,
    visitor_tree: Option<VisitorTree>,
    taught: Vec<TaughtConcept>,
    /// Answers to earlier photos that the last query changed.
    changed: Vec<Response>,
    disks: HashMap<TreeSource, Disk>,
    /// The points of the photo of the last heat map without each of its places.
    occlusions: Option<(PhotoId, Occlusions)>,
}

impl QueryHandler {
    /// Creates a query handler for a model on an engine.
    pub fn new(model: RemoteModel, engine: Engine) -> Self {
        Self {
            model,
            engine,
            text_embedder: None,
            visitor_tree: None,
            taught: Vec::new(),
            changed: Vec::new(),
            disks: HashMap::new(),
            occlusions: None,
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
            Query::Heat { photo: id, caption } => {
                self.heat(photo_store, (id, photo), &caption, report).await
            }
            Query::Subjects => {
                let photo = Photo::open(photo)?;
                let captioner = photo_store.captioner();
                let subjects = captioner.subjects(&photo.pixels, report).await?;
                Ok(QueryAnswer::Subjects { subjects })
            }
            Query::Place { photo, tree, below } => {
                self.place(photo_store, photo, tree, below.as_deref())
            }
            Query::WhyNot {
                photo,
                tree,
                phrase,
            } => self.why_not(photo_store, photo, tree, phrase, report).await,
            Query::EmbedTree { text } => self.embed_tree(photo_store, &text, report).await,
            Query::Learn {
                name,
                below,
                tree,
                photos,
            } => self.learn(photo_store, (name, below), tree, &photos),
            Query::Teach { concepts } => self.teach(photo_store, concepts),
            Query::Disk { tree, photos } => self.disk_positions(photo_store, tree, &photos),
            Query::Walk { from, to, tree } => self.walk(photo_store, from, to, tree),
        }
    }

    /// Returns the answers to earlier photos that the last query changed, once.
    pub fn take_changed(&mut self) -> Vec<Response> {
        std::mem::take(&mut self.changed)
    }

    fn learn(
        &self,
        photo_store: &PhotoStore,
        (name, below): (String, String),
        tree: TreeSource,
        photos: &[PhotoId],
    ) -> Result<QueryAnswer, UiError> {
        let photos: Result<Vec<_>, _> = photos
            .iter()
            .map(|id| photo_store.point(*id).map(<[f32]>::to_vec))
            .collect();
        let concept = TaughtConcept {
            name: name.trim().to_owned(),
            below,
            photos: photos?,
        };
        let captioner = photo_store.captioner();
        let untaught = match tree {
            TreeSource::Bundle => captioner.untaught(),
            TreeSource::Own => &self.own_tree()?.untaught,
        };
        // Finds out whether the concept is valid.
        untaught
            .teach(captioner.space(), std::slice::from_ref(&concept))
            .map_err(UiError::bad_concepts)?;
        let check = untaught.check_taught(captioner.space(), &concept);
        Ok(QueryAnswer::Learned { concept, check })
    }

    fn teach(
        &mut self,
        photo_store: &mut PhotoStore,
        concepts: Vec<TaughtConcept>,
    ) -> Result<QueryAnswer, UiError> {
        self.changed = photo_store.teach(&concepts)?;
        let space = photo_store.captioner().space();
        if let Some(own) = &mut self.visitor_tree {
            own.teach(space, &concepts)?;
        }
        self.taught = concepts;
        self.disks.clear();
        let own = self.visitor_tree.as_ref();
        Ok(QueryAnswer::Taught {
            bundle: photo_store.captioner().classifier().taxonomy().to_tsv(),
            own: own.map(|own| own.classifier.taxonomy().to_tsv()),
        })
    }

    fn own_tree(&self) -> Result<&VisitorTree, UiError> {
        self.visitor_tree
            .as_ref()
            .ok_or_else(UiError::forgotten_tree)
    }

    fn classifier<'a>(
        &'a self,
        photo_store: &'a PhotoStore,
        tree: TreeSource,
    ) -> Result<&'a Classifier, UiError> {
        Ok(match tree {
            TreeSource::Bundle => photo_store.captioner().classifier(),
            TreeSource::Own => &self.own_tree()?.classifier,
        })
    }

    async fn heat(
        &mut self,
        photo_store: &PhotoStore,
        (id, bytes): (PhotoId, &[u8]),
        caption: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let captioner = photo_store.captioner();
        let claim = match captioner.claim(caption) {
            Some(claim) => claim,
            None => {
                self.claim_of_phrase(photo_store, caption, &mut report)
                    .await?
            }
        };
        let occlusions = match self.occlusions.take().filter(|(photo, _)| *photo == id) {
            Some((_, occlusions)) => occlusions,
            None => {
                let photo = Photo::open(bytes)?;
                captioner.occlusions(&photo.pixels, report).await?
            }
        };
        let map = captioner.heat(&occlusions, &claim);
        self.occlusions = Some((id, occlusions));
        Ok(QueryAnswer::Heat { map })
    }

    /// Returns what a visitor's phrase claims of a photo: its node if it names one.
    async fn claim_of_phrase(
        &mut self,
        photo_store: &PhotoStore,
        phrase: &str,
        report: impl FnMut(u64, u64),
    ) -> Result<Claim, UiError> {
        let encoder = self.text_encoder(photo_store, report).await?;
        let point = encoder.embed(&[phrase]).await?.remove(0);
        let classifier = photo_store.captioner().classifier();
        let node = classifier.taxonomy().named(phrase);
        Ok(node.map_or(Claim::Text(point), Claim::Node))
    }

    fn place(
        &self,
        photo_store: &PhotoStore,
        photo: PhotoId,
        tree: TreeSource,
        below: Option<&str>,
    ) -> Result<QueryAnswer, UiError> {
        let (classifier, captioner) =
            (self.classifier(photo_store, tree)?, photo_store.captioner());
        let (space, taxonomy) = (captioner.space(), classifier.taxonomy());
        let point = photo_store.point(photo)?;
        let below = below.and_then(|id| taxonomy.find(id));
        let place = captioner.place(classifier, point, below);
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

    /// Returns the text encoder. The first call loads it and tests it on captions of the bundle.
    async fn text_encoder(
        &mut self,
        photo_store: &PhotoStore,
        report: impl FnMut(u64, u64),
    ) -> Result<&TextEmbedder, UiError> {
        if self.text_embedder.is_none() {
            let files = text::load(&self.model, report).await?;
            let embedder = TextEmbedder::open(&self.model.manifest, &files, &self.engine)?;
            let captions = photo_store.captioner().index();
            let cosine = embedder.self_test(captions).await?;
            // A NaN fails too.
            if cosine.is_nan() || cosine < MIN_TEXT_COSINE {
                return Err(UiError::wrong_text_self_test(cosine, MIN_TEXT_COSINE));
            }
            self.text_embedder = Some(embedder);
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
        let encoder = self.text_encoder(photo_store, report).await?;
        let point = encoder.embed(&[&phrase]).await?.remove(0);
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
        let (captioner, point) = (photo_store.captioner(), question.photo);
        let verdict = captioner.explain(classifier, question);
        let parts = captioner.asked(&phrase, point);
        Ok(QueryAnswer::WhyNot {
            phrase,
            verdict,
            parts,
        })
    }

    async fn embed_tree(
        &mut self,
        photo_store: &PhotoStore,
        text: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let taxonomy = VisitorTree::parse(text)?;
        let note = taxonomy.note().map(str::to_owned);
        // The levels are calibrated for the depths of the bundle's own tree.
        let calibration = Calibration {
            levels: Vec::new(),
            ..photo_store.captioner().classifier().calibration().clone()
        };
        let encoder = self.text_encoder(photo_store, &mut report).await?;
        let mut tree = VisitorTree::embed(taxonomy, encoder, calibration, report).await?;
        tree.teach(photo_store.captioner().space(), &self.taught)?;
        let tsv = tree.classifier.taxonomy().to_tsv();
        self.visitor_tree = Some(tree);
        self.disks.remove(&TreeSource::Own);
        Ok(QueryAnswer::TreeEmbedded { tsv, note })
    }

    /// Returns the embeddings of a taxonomy's nodes. In the bundle's taxonomy, a node that is not a
    /// label has the embedding of the first caption that is just a name of it.
    fn points(
        &self,
        photo_store: &PhotoStore,
        tree: TreeSource,
    ) -> Result<Vec<Option<Vec<f32>>>, UiError> {
        Ok(match tree {
            TreeSource::Own => self.own_tree()?.points.clone(),
            TreeSource::Bundle => {
                let captioner = photo_store.captioner();
                node_embeddings(captioner.classifier(), captioner.index())
            }
        })
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

    /// Returns the direction in which a photo is drawn: that of the labels, weighted by their
    /// probabilities. Two dimensions keep so little of the space that the photo's own projection
    /// may lie among concepts that it certainly does not show.
    fn direction(
        &self,
        photo_store: &PhotoStore,
        tree: TreeSource,
        disk: &Disk,
        photo: &[f32],
    ) -> Result<[f64; 2], UiError> {
        let classifier = self.classifier(photo_store, tree)?;
        let space = photo_store.captioner().space();
        let p = classifier.probabilities(space, photo, None);
        let labels = classifier.taxonomy().labelled().iter();
        let mut sum = [0.0; 2];
        for (ix, label) in labels.zip(classifier.labels()) {
            let [x, y] = disk.project(space, label);
            let weight = f64::from(p[ix.index()]) / x.hypot(y).max(1e-9);
            sum[0] += weight * x;
            sum[1] += weight * y;
        }
        Ok(sum)
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
                .map(|id| {
                    let point = photo_store.point(*id).ok()?;
                    let direction = self.direction(photo_store, tree, &disk, point).ok()?;
                    Some(along(direction, disk.project(space, point)))
                })
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
        let direction = |embedding: &[f32]| self.direction(photo_store, tree, &disk, embedding);
        let start = direction(&from.embedding)?;
        let end = to.map_or(Ok(start), |to| direction(&to.embedding))?;
        let place = |point: TraversalPoint| {
            let share = point.share;
            let between = [0, 1].map(|axis| start[axis] * (1.0 - share) + end[axis] * share);
            let projected = disk.project(photo_store.captioner().space(), &point.point);
            WalkStep {
                position: along(between, projected),
                point,
            }
        };
        Ok(QueryAnswer::Walk {
            steps: steps.into_iter().map(place).collect(),
        })
    }
}

/// Returns the position in a direction that has the distance of `position` to the centre;
/// `position` itself if there is no direction.
fn along([x, y]: [f64; 2], position: [f64; 2]) -> [f64; 2] {
    let (length, distance) = (x.hypot(y), position[0].hypot(position[1]));
    if length < 1e-9 {
        return position;
    }
    [x / length * distance, y / length * distance]
}

/// Returns whether the worker can no longer be used after this error.
pub fn is_fatal(error: &UiError) -> bool {
    matches!(error.cause, Cause::Gpu | Cause::Engine)
}
