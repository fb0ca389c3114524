//! Answers queries in the worker, from the embeddings of the photos that it has read, the text
//! encoder once loaded, the visitor's tree, and the disk.

use std::collections::HashMap;
use std::rc::Rc;

use espalier_core::caption::{
    Calibration, Captioner, Claim, Classifier, Engine, MIN_TEXT_COSINE, Occlusions, Photo,
    Question, TaughtConcept, TaxonomyResult, TextEmbedder, TraversalPoint, node_embeddings,
    place_text,
};
use espalier_core::geometry::Space;
use espalier_core::project::Disk;

use super::photo_store::PhotoStore;
use super::visitor_tree::VisitorTree;
use crate::load::bundle::RemoteModel;
use crate::messages::protocol::Response;
use crate::messages::query::{PhotoId, Place, Query, QueryAnswer, TreeSource, WalkStep};
use crate::ui_error::UiError;

/// Hyperbolic distance from the centre at which the farthest node is drawn.
const MAX_DISTANCE: f64 = 3.0;

/// Number of points of a walk.
const WALK_STEPS: usize = 41;

/// The photos that were read, and what queries about them need.
pub struct QueryHandler {
    /// The model and the photos.
    pub photo_store: PhotoStore,
    /// Answers to earlier photos that the last query changed.
    pub changed: Vec<Response>,
    model: RemoteModel,
    engine: Engine,
    text_embedder: Option<Rc<TextEmbedder>>,
    visitor_tree: Option<VisitorTree>,
    taught: Vec<TaughtConcept>,
    disks: HashMap<TreeSource, Disk>,
    /// The points of the photo of the last heat map without each of its places.
    occlusions: Option<(PhotoId, Occlusions)>,
}

impl QueryHandler {
    /// Creates a query handler for a model on an engine.
    pub fn new(photo_store: PhotoStore, model: RemoteModel, engine: Engine) -> Self {
        Self {
            photo_store,
            changed: Vec::new(),
            model,
            engine,
            text_embedder: None,
            visitor_tree: None,
            taught: Vec::new(),
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
        query: Query,
        photo: &[u8],
        report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        match query {
            Query::Read { photo: id, region } => {
                let json = self.photo_store.read(id, photo, region).await?;
                let radius = self.captioner().space().radius(self.photo_store.point(id)?);
                Ok(QueryAnswer::Read { json, radius })
            }
            Query::Heat { photo: id, caption } => self.heat(id, photo, &caption, report).await,
            Query::Subjects => {
                let photo = Photo::open(photo)?;
                let subjects = self.captioner().subjects(&photo.pixels, report).await?;
                Ok(QueryAnswer::Subjects { subjects })
            }
            Query::Place { photo, tree, below } => self.place(photo, tree, below.as_deref()),
            Query::WhyNot {
                photo,
                tree,
                phrase,
            } => self.why_not(photo, tree, phrase, report).await,
            Query::EmbedTree { text } => self.embed_tree(&text, report).await,
            Query::Learn {
                name,
                below,
                tree,
                photos,
            } => self.learn(&name, below, tree, &photos),
            Query::Teach { concepts } => self.teach(concepts),
            Query::Disk { tree, photos } => self.disk_positions(tree, &photos),
            Query::Walk { from, to, tree } => self.walk(from, to, tree),
        }
    }

    fn captioner(&self) -> &Captioner {
        self.photo_store.captioner()
    }

    fn learn(
        &self,
        name: &str,
        below: String,
        tree: TreeSource,
        photos: &[PhotoId],
    ) -> Result<QueryAnswer, UiError> {
        let photos = photos.iter();
        let photos = photos.map(|id| self.photo_store.point(*id).map(<[f32]>::to_vec));
        let concept = TaughtConcept {
            name: name.trim().to_owned(),
            below,
            photos: photos.collect::<Result<_, _>>()?,
        };
        let space = self.captioner().space();
        let untaught = match tree {
            TreeSource::Bundle => self.captioner().untaught(),
            TreeSource::Own => &self.own_tree()?.untaught,
        };
        // Finds out whether the concept is valid.
        untaught
            .teach(space, std::slice::from_ref(&concept))
            .map_err(UiError::bad_concepts)?;
        let check = untaught.check_taught(space, &concept);
        Ok(QueryAnswer::Learned { concept, check })
    }

    fn teach(&mut self, concepts: Vec<TaughtConcept>) -> Result<QueryAnswer, UiError> {
        self.changed = self.photo_store.teach(&concepts)?;
        let captioner = self.photo_store.captioner();
        if let Some(own) = &mut self.visitor_tree {
            own.teach(captioner.space(), &concepts)?;
        }
        self.taught = concepts;
        self.disks.clear();
        let own = self.visitor_tree.as_ref();
        Ok(QueryAnswer::Taught {
            bundle: captioner.classifier().taxonomy().to_tsv(),
            own: own.map(|own| own.classifier.taxonomy().to_tsv()),
        })
    }

    fn own_tree(&self) -> Result<&VisitorTree, UiError> {
        self.visitor_tree
            .as_ref()
            .ok_or_else(UiError::forgotten_tree)
    }

    fn classifier(&self, tree: TreeSource) -> Result<&Classifier, UiError> {
        Ok(match tree {
            TreeSource::Bundle => self.captioner().classifier(),
            TreeSource::Own => &self.own_tree()?.classifier,
        })
    }

    async fn heat(
        &mut self,
        id: PhotoId,
        photo: &[u8],
        caption: &str,
        report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let claim = match self.captioner().claim(caption) {
            Some(claim) => claim,
            None => self.claim_of_phrase(caption).await?,
        };
        let occlusions = match self.occlusions.take().filter(|(photo, _)| *photo == id) {
            Some((_, occlusions)) => occlusions,
            None => {
                let photo = Photo::open(photo)?;
                self.captioner().occlusions(&photo.pixels, report).await?
            }
        };
        let map = self.captioner().heat(&occlusions, &claim);
        self.occlusions = Some((id, occlusions));
        Ok(QueryAnswer::Heat { map })
    }

    /// Returns what a visitor's phrase claims of a photo: its node if it names one.
    async fn claim_of_phrase(&mut self, phrase: &str) -> Result<Claim, UiError> {
        // Bytes are not reported: the progress of a heat map counts places.
        let encoder = self.text_encoder(|_, _| ()).await?;
        let point = encoder.embed(&[phrase]).await?.remove(0);
        let node = self.captioner().classifier().taxonomy().named(phrase);
        Ok(node.map_or(Claim::Text(point), Claim::Node))
    }

    fn place(
        &self,
        photo: PhotoId,
        tree: TreeSource,
        below: Option<&str>,
    ) -> Result<QueryAnswer, UiError> {
        let (classifier, captioner) = (self.classifier(tree)?, self.captioner());
        let (space, taxonomy) = (captioner.space(), classifier.taxonomy());
        let point = self.photo_store.point(photo)?;
        let below = below.and_then(|id| taxonomy.find(id));
        let place = captioner.place(classifier, point, below);
        Ok(QueryAnswer::Place(Place {
            path: TaxonomyResult::of(taxonomy, &place.path),
            p: place.p,
            radius: space.radius(point),
            factors: match space {
                Space::Product { .. } => space.radii(point),
                _ => Vec::new(),
            },
        }))
    }

    /// Returns the text encoder. The first call loads it and tests it on captions of the bundle.
    async fn text_encoder(
        &mut self,
        report: impl FnMut(u64, u64),
    ) -> Result<Rc<TextEmbedder>, UiError> {
        if let Some(embedder) = &self.text_embedder {
            return Ok(Rc::clone(embedder));
        }
        let files = self.model.text_files(report).await?;
        let embedder = TextEmbedder::open(&self.model.manifest, &files, &self.engine)?;
        let cosine = embedder.self_test(self.captioner().index()).await?;
        // A NaN fails too.
        if cosine.is_nan() || cosine < MIN_TEXT_COSINE {
            return Err(UiError::wrong_text_self_test(cosine, MIN_TEXT_COSINE));
        }
        let embedder = Rc::new(embedder);
        self.text_embedder = Some(Rc::clone(&embedder));
        Ok(embedder)
    }

    async fn why_not(
        &mut self,
        photo: PhotoId,
        tree: TreeSource,
        phrase: String,
        report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let encoder = self.text_encoder(report).await?;
        let point = encoder.embed(&[&phrase]).await?.remove(0);
        let nodes = self.points(tree)?;
        let (classifier, captioner) = (self.classifier(tree)?, self.captioner());
        let (taxonomy, space) = (classifier.taxonomy(), captioner.space());
        let photo = self.photo_store.point(photo)?;
        let question = Question {
            phrase: &point,
            photo,
            place: place_text(taxonomy, space, encoder.lexicon(), &phrase, &point, &nodes),
            nodes: &nodes,
        };
        let verdict = captioner.explain(classifier, question);
        let parts = captioner.asked(&phrase, photo);
        Ok(QueryAnswer::WhyNot {
            phrase,
            verdict,
            parts,
        })
    }

    async fn embed_tree(
        &mut self,
        text: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<QueryAnswer, UiError> {
        let taxonomy = VisitorTree::parse(text)?;
        let note = taxonomy.note().map(str::to_owned);
        let encoder = self.text_encoder(&mut report).await?;
        // The levels are calibrated for the depths of the bundle's own tree.
        let calibration = Calibration {
            levels: Vec::new(),
            ..self.captioner().classifier().calibration().clone()
        };
        let mut tree = VisitorTree::embed(taxonomy, &encoder, calibration, report).await?;
        tree.teach(self.captioner().space(), &self.taught)?;
        let tsv = tree.classifier.taxonomy().to_tsv();
        self.visitor_tree = Some(tree);
        self.disks.remove(&TreeSource::Own);
        Ok(QueryAnswer::TreeEmbedded { tsv, note })
    }

    /// Returns the embeddings of a taxonomy's nodes. In the bundle's taxonomy, a node that is not a
    /// label has the embedding of the first caption that is just a name of it.
    fn points(&self, tree: TreeSource) -> Result<Vec<Option<Vec<f32>>>, UiError> {
        let captioner = self.captioner();
        Ok(match tree {
            TreeSource::Own => self.own_tree()?.points.clone(),
            TreeSource::Bundle => node_embeddings(captioner.classifier(), captioner.index()),
        })
    }

    fn disk(&mut self, tree: TreeSource) -> Result<Disk, UiError> {
        if let Some(disk) = self.disks.get(&tree) {
            return Ok(disk.clone());
        }
        let points = self.points(tree)?;
        let known: Vec<&[f32]> = points.iter().flatten().map(Vec::as_slice).collect();
        let disk = Disk::fit(self.captioner().space(), &known, MAX_DISTANCE);
        self.disks.insert(tree, disk.clone());
        Ok(disk)
    }

    /// Returns the direction in which a photo is drawn: that of the labels, weighted by their
    /// probabilities. Two dimensions keep so little of the space that the photo's own projection
    /// may lie among concepts that it certainly does not show.
    fn direction(&self, tree: TreeSource, disk: &Disk, photo: &[f32]) -> Result<[f64; 2], UiError> {
        let classifier = self.classifier(tree)?;
        let space = self.captioner().space();
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
        tree: TreeSource,
        photos: &[PhotoId],
    ) -> Result<QueryAnswer, UiError> {
        let disk = self.disk(tree)?;
        let space = self.captioner().space();
        let node = |point: &Option<Vec<f32>>| Some(disk.project(space, point.as_ref()?));
        let photo = |id: &PhotoId| {
            let point = self.photo_store.point(*id).ok()?;
            let direction = self.direction(tree, &disk, point).ok()?;
            Some(along(direction, disk.project(space, point)))
        };
        Ok(QueryAnswer::Disk {
            nodes: self.points(tree)?.iter().map(node).collect(),
            photos: photos.iter().map(photo).collect(),
            explained: disk.explained,
        })
    }

    fn walk(
        &mut self,
        from: PhotoId,
        to: Option<PhotoId>,
        tree: TreeSource,
    ) -> Result<QueryAnswer, UiError> {
        let disk = self.disk(tree)?;
        let from = self.photo_store.reading(from)?;
        let to = to.map(|to| self.photo_store.reading(to)).transpose()?;
        let captioner = self.captioner();
        let steps = captioner.walk(from, to, WALK_STEPS);
        let direction = |embedding: &[f32]| self.direction(tree, &disk, embedding);
        let start = direction(&from.embedding)?;
        let end = to.map_or(Ok(start), |to| direction(&to.embedding))?;
        let place = |point: TraversalPoint| {
            let share = point.share;
            let between = [0, 1].map(|axis| start[axis] * (1.0 - share) + end[axis] * share);
            let projected = disk.project(captioner.space(), &point.point);
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
