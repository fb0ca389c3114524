//! Where a worker looks into questions: the points of the photos that it has read, the text tower once
//! it was asked for, the visitor's own tree, and the disk.

use std::collections::HashMap;
use std::rc::Rc;

use burn::tensor::Device;
use espalier_core::bundle::sha256_hex;
use espalier_core::caption::{
    Calibration, CaptionResult, Captioner, Classifier, PhotoInfo, Question, TaxonomyResult, Texts,
};
use espalier_core::geometry::Space;
use espalier_core::input::{crop_box, decode};
use espalier_core::project::Disk;
use espalier_core::taxonomy::{NodeIx, Taxonomy};

use super::ask::{Ask, Step, Told, Which};
use super::clock::Clock;
use super::protocol::{Backend, PhotoId};
use crate::load::text;
use crate::ui_error::{Cause, UiError};

/// How far from the centre the farthest node is drawn, as a hyperbolic distance.
const REACH: f64 = 3.0;

/// Points of a walk.
const STEPS: usize = 41;

/// Names that a visitor's own tree may have.
const MOST_NAMES: usize = 3_000;

/// Names that are embedded before progress is told.
const NAMES_AT_ONCE: usize = 8;

/// A taxonomy with the points of its nodes.
struct Tree {
    classifier: Classifier,
    /// One for each node; none where no text speaks of it.
    points: Vec<Option<Vec<f32>>>,
}

/// What questions are answered from.
pub struct Inquiry {
    backend: Backend,
    manifest_url: String,
    device: Device,
    captioner: Rc<Captioner>,
    seen: HashMap<PhotoId, Vec<f32>>,
    texts: Option<Texts>,
    own: Option<Tree>,
    disks: HashMap<Which, Disk>,
}

fn told(error: espalier_core::CoreError) -> UiError {
    UiError::from(&error)
}

impl Inquiry {
    /// An inquiry that has seen nothing yet.
    pub fn new(
        backend: Backend,
        manifest_url: &str,
        captioner: Rc<Captioner>,
        device: Device,
    ) -> Self {
        Self {
            backend,
            manifest_url: manifest_url.to_owned(),
            device,
            captioner,
            seen: HashMap::new(),
            texts: None,
            own: None,
            disks: HashMap::new(),
        }
    }

    /// Reads a photo, or a part of it: the same decoding, the same preprocessing and the same
    /// ranking as the command line's.
    ///
    /// # Errors
    /// When the photo cannot be read, or the device fails.
    pub async fn read(
        &mut self,
        id: PhotoId,
        photo: &[u8],
        region: Option<[f32; 4]>,
    ) -> Result<CaptionResult, UiError> {
        let mut clock = Clock::start();
        let mut picture = decode(photo).map_err(told)?;
        let image = PhotoInfo {
            width: picture.width(),
            height: picture.height(),
            sha256: sha256_hex(photo),
        };
        clock.lap("decode");
        if let Some(region) = region {
            picture = crop_box(&picture, region).ok_or_else(UiError::empty_region)?;
        }
        let embedding = self
            .captioner
            .embed(std::slice::from_ref(&picture))
            .await
            .map_err(told)?
            .remove(0);
        clock.lap("embed");
        let caption = self.captioner.rank(&embedding);
        clock.lap("rank");
        self.seen.insert(id, embedding);
        Ok(CaptionResult {
            model: self.captioner.info().clone(),
            backend: self.backend.as_str().to_owned(),
            image,
            ladder: caption.ladder,
            taxonomy: caption.taxonomy,
            timing_ms: clock.stop(),
        })
    }

    /// Answers a question; `photo` are the bytes that came with it, `report` is told of bytes that
    /// arrive and of bytes in all.
    ///
    /// # Errors
    /// What to tell the visitor.
    pub async fn answer(
        &mut self,
        ask: Ask,
        photo: &[u8],
        report: impl FnMut(u64, u64),
    ) -> Result<Told, UiError> {
        match ask {
            Ask::Read { photo: id, region } => {
                let result = self.read(id, photo, region).await?;
                let json = serde_json::to_string_pretty(&result)
                    .map_err(|e| UiError::mixed_versions(e.to_string()))?;
                let radius = self.captioner.space().radius(self.point(id)?);
                Ok(Told::Read { json, radius })
            }
            Ask::Place { photo, tree, below } => self.place(photo, tree, below.as_deref()),
            Ask::TextTower => {
                self.text_tower(report).await?;
                Ok(Told::TextTower)
            }
            Ask::WhyNot {
                photo,
                tree,
                phrase,
            } => self.why_not(photo, tree, phrase, report).await,
            Ask::Plant { text } => self.plant(&text, report).await,
            Ask::Disk { tree, photos } => self.draw(tree, &photos),
            Ask::Walk { from, to, tree } => self.walk(from, to, tree),
        }
    }

    fn point(&self, photo: PhotoId) -> Result<&[f32], UiError> {
        let point = self.seen.get(&photo).map(Vec::as_slice);
        point.ok_or_else(UiError::forgotten_photo)
    }

    fn classifier(&self, tree: Which) -> Result<&Classifier, UiError> {
        match (tree, &self.own) {
            (Which::Bundle, _) => Ok(self.captioner.classifier()),
            (Which::Own, Some(own)) => Ok(&own.classifier),
            (Which::Own, None) => Err(UiError::forgotten_tree()),
        }
    }

    fn place(&self, photo: PhotoId, tree: Which, below: Option<&str>) -> Result<Told, UiError> {
        let (classifier, space) = (self.classifier(tree)?, self.captioner.space());
        let taxonomy = classifier.taxonomy();
        let point = self.point(photo)?;
        let place = classifier.place(space, point, below.and_then(|id| taxonomy.find(id)));
        Ok(Told::Place {
            path: TaxonomyResult::of(taxonomy, &place.path),
            p: place.p,
            radius: space.radius(point),
            factors: match space {
                Space::Product { .. } => space.radii(point),
                _ => Vec::new(),
            },
        })
    }

    async fn text_tower(&mut self, report: impl FnMut(u64, u64)) -> Result<&Texts, UiError> {
        if self.texts.is_none() {
            let sha256 = self.captioner.info().sha256.clone();
            let (manifest, files) = text::load(&self.manifest_url, &sha256, report).await?;
            let texts = Texts::open(&manifest, &files, &self.device).map_err(told)?;
            self.texts = Some(texts);
        }
        self.texts.as_ref().ok_or_else(UiError::no_text_tower)
    }

    async fn why_not(
        &mut self,
        photo: PhotoId,
        tree: Which,
        phrase: String,
        report: impl FnMut(u64, u64),
    ) -> Result<Told, UiError> {
        let texts = self.text_tower(report).await?;
        let point = texts.embed(&[&phrase]).await.map_err(told)?.remove(0);
        let classifier = self.classifier(tree)?;
        let question = Question {
            phrase: &point,
            photo: self.point(photo)?,
            named: named(classifier.taxonomy(), &phrase),
        };
        let verdict = self.captioner.weigh(classifier, question);
        Ok(Told::WhyNot { phrase, verdict })
    }

    async fn plant(
        &mut self,
        text: &str,
        mut report: impl FnMut(u64, u64),
    ) -> Result<Told, UiError> {
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
            points.extend(texts.concepts(names).await.map_err(told)?);
            report(points.len() as u64, all as u64);
        }
        let labels = taxonomy.labelled().iter();
        let labels: Vec<f32> = labels.flat_map(|ix| points[ix.index()].clone()).collect();
        let width = points.first().map_or(0, Vec::len);
        // What was fitted level by level belongs to the model's own levels.
        let calibration = Calibration {
            levels: Vec::new(),
            ..self.captioner.classifier().calibration().clone()
        };
        let tsv = taxonomy.to_tsv();
        let classifier = Classifier::new(taxonomy, labels, width, calibration).map_err(told)?;
        let points = points.into_iter().map(Some).collect();
        self.own = Some(Tree { classifier, points });
        self.disks.remove(&Which::Own);
        Ok(Told::Planted { tsv })
    }

    /// Points of a taxonomy's nodes: those of labels, and for the others that of the first caption
    /// that is a bare name of theirs.
    fn points(&self, tree: Which) -> Result<Vec<Option<Vec<f32>>>, UiError> {
        if let (Which::Own, Some(own)) = (tree, &self.own) {
            return Ok(own.points.clone());
        }
        let classifier = self.classifier(tree)?;
        let taxonomy = classifier.taxonomy();
        let mut points = vec![None; taxonomy.nodes().len()];
        let index = self.captioner.index();
        for (place, entry) in index.entries().iter().enumerate() {
            let node = entry.node.as_deref().and_then(|id| taxonomy.find(id));
            if let (Some(node), 0) = (node, entry.detail) {
                points[node.index()].get_or_insert_with(|| index.point(place).to_vec());
            }
        }
        for (ix, point) in taxonomy.labelled().iter().zip(classifier.labels()) {
            points[ix.index()] = Some(point.to_vec());
        }
        Ok(points)
    }

    fn disk(&mut self, tree: Which) -> Result<Disk, UiError> {
        if let Some(disk) = self.disks.get(&tree) {
            return Ok(disk.clone());
        }
        let points = self.points(tree)?;
        let known: Vec<&[f32]> = points.iter().flatten().map(Vec::as_slice).collect();
        let disk = Disk::find(self.captioner.space(), &known, REACH);
        self.disks.insert(tree, disk.clone());
        Ok(disk)
    }

    fn draw(&mut self, tree: Which, photos: &[PhotoId]) -> Result<Told, UiError> {
        let disk = self.disk(tree)?;
        let space = self.captioner.space();
        let nodes = self.points(tree)?;
        Ok(Told::Disk {
            nodes: nodes
                .iter()
                .map(|point| point.as_ref().map(|x| disk.put(space, x)))
                .collect(),
            photos: photos
                .iter()
                .map(|id| self.seen.get(id).map(|x| disk.put(space, x)))
                .collect(),
            kept: disk.kept,
        })
    }

    fn walk(&mut self, from: PhotoId, to: Option<PhotoId>, tree: Which) -> Result<Told, UiError> {
        let disk = self.disk(tree)?;
        let from = self.point(from)?;
        let to = to.map(|to| self.point(to)).transpose()?;
        let steps = self.captioner.walk(from, to, STEPS);
        let place = |passed: espalier_core::caption::Passed| Step {
            at: disk.put(self.captioner.space(), &passed.point),
            passed,
        };
        Ok(Told::Walk {
            steps: steps.into_iter().map(place).collect(),
        })
    }
}

/// The node that a phrase names, articles and case aside.
fn named(taxonomy: &Taxonomy, phrase: &str) -> Option<NodeIx> {
    let bare = |text: &str| {
        let lower = text.trim().to_lowercase();
        let rest = ["a ", "an ", "the "]
            .iter()
            .find_map(|a| lower.strip_prefix(a));
        rest.map_or(lower.clone(), str::to_owned)
    };
    let wanted = bare(phrase);
    let found = taxonomy
        .nodes()
        .iter()
        .position(|node| node.id == phrase || node.names.iter().any(|name| bare(name) == wanted));
    found.and_then(|at| u32::try_from(at).ok()).map(NodeIx)
}

/// Whether a worker that met this error is of no further use.
#[must_use]
pub fn is_fatal(error: &UiError) -> bool {
    matches!(error.cause, Cause::Gpu | Cause::Engine)
}
