//! An opened bundle, ready to caption photos.

use image::RgbImage;

use super::answer::Caption;
use super::classifier::{Classifier, Placement};
use super::detectors::Detectors;
use super::encoders::ImagePart;
use super::files::{self, EMBEDDINGS};
use super::index::CaptionIndex;
use super::ladder;
use super::result::{Lineage, ModelInfo, PathStep, Shown, TaxonomyResult};
use super::self_test::{cosine, least_cosine};
use super::taught::TaughtConcept;
use crate::bundle::{BundleFiles, Caution, Manifest};
use crate::error::Result;
use crate::geometry::Space;
use crate::input::Preprocess;
use crate::taxonomy::{NodeIx, Taxonomy, TaxonomyPath};

/// A bundle with its image encoder.
#[derive(Debug)]
pub struct Captioner {
    info: ModelInfo,
    cautions: Vec<Caution>,
    preprocess: Preprocess,
    space: Space,
    image_part: ImagePart,
    index: CaptionIndex,
    classifier: Classifier,
    /// The bundle's classifier, once concepts have been taught.
    untaught: Option<Classifier>,
    detectors: Option<Detectors>,
    selftest: Option<(RgbImage, Vec<f32>)>,
}

impl Captioner {
    /// Combines an image encoder that has its weights with the files of the other parts.
    ///
    /// # Errors
    /// [`crate::CoreError::Bundle`] naming a missing file, a tensor error naming a tensor.
    pub(super) fn assemble(
        manifest: Manifest,
        sha256: String,
        image_part: ImagePart,
        bundle: &BundleFiles,
    ) -> Result<Self> {
        let width = manifest.model.d_embed;
        let space = manifest.geometry.clone();
        let selftest = if manifest.file(files::SELFTEST_IMAGE).is_ok() {
            let image = crate::input::decode(bundle.get(files::SELFTEST_IMAGE)?)?;
            let known = bundle.tensors(files::SELFTEST_EMBEDDING)?;
            let known = files::values(&known, EMBEDDINGS, &[1, width])?;
            Some((image, known.to_vec()))
        } else {
            None
        };
        Ok(Self {
            index: CaptionIndex::read(&manifest, bundle, &space)?,
            classifier: Classifier::read(bundle, width)?,
            detectors: Detectors::read(bundle, width)?,
            untaught: None,
            cautions: manifest.cautions(),
            info: ModelInfo {
                name: manifest.name,
                version: manifest.version,
                sha256,
            },
            preprocess: manifest.preprocessing,
            space,
            image_part,
            selftest,
        })
    }

    /// Adds the captions of a later shard, see [`crate::bundle::BundleFile::shard`].
    ///
    /// # Errors
    /// As [`CaptionIndex::read`].
    pub fn grow(&mut self, manifest: &Manifest, shard: u32, bundle: &BundleFiles) -> Result<()> {
        self.index.grow(manifest, shard, bundle, &self.space)
    }

    /// Teaches concepts, which replace those that were taught before. Photos have to be ranked
    /// again.
    ///
    /// # Errors
    /// As [`Classifier::teach`]; the captioner is then unchanged.
    pub fn teach(&mut self, concepts: &[TaughtConcept]) -> Result<()> {
        let (classifier, captions) = self.untaught().teach(&self.space, concepts)?;
        let bundled = std::mem::replace(&mut self.classifier, classifier);
        self.untaught.get_or_insert(bundled);
        self.index
            .set_taught(captions, TaughtConcept::is_caption, &self.space);
        Ok(())
    }

    /// Returns the bundle's classifier, without taught concepts.
    #[must_use]
    pub fn untaught(&self) -> &Classifier {
        self.untaught.as_ref().unwrap_or(&self.classifier)
    }

    /// Returns the preprocessing of a photo for the image encoder.
    #[must_use]
    pub fn preprocessing(&self) -> Preprocess {
        self.preprocess
    }

    /// Returns the name, version and hash of the bundle.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    /// Returns the reasons to doubt the answers of the model.
    #[must_use]
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// Returns the space of the embeddings.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the image encoder.
    pub(super) fn image_part(&self) -> &ImagePart {
        &self.image_part
    }

    /// Returns the caption index.
    #[must_use]
    pub fn index(&self) -> &CaptionIndex {
        &self.index
    }

    /// Returns the zero-shot classifier of the bundle.
    #[must_use]
    pub fn classifier(&self) -> &Classifier {
        &self.classifier
    }

    /// Returns the detectors of statements, if the bundle has any.
    #[must_use]
    pub fn detectors(&self) -> Option<&Detectors> {
        self.detectors.as_ref()
    }

    /// Returns the embeddings of photos, `[n, d_embed]` row by row.
    ///
    /// Awaits the device, since a browser must not block.
    ///
    /// # Errors
    /// [`crate::CoreError::Image`] for an image without pixels, [`crate::CoreError::Device`] when the
    /// device fails.
    pub async fn embed(&self, photos: &[RgbImage]) -> Result<Vec<Vec<f32>>> {
        let inputs: Vec<RgbImage> = photos
            .iter()
            .map(|p| self.preprocess.apply(p))
            .collect::<Result<_>>()?;
        self.image_part.embed(&inputs).await
    }

    /// Returns the cosine between the stored and the computed embedding of the bundle's test image;
    /// 1 for a bundle without one. A value below [`least_cosine`](Self::least_cosine) means that this
    /// engine computes wrong results.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn self_test(&self) -> Result<f32> {
        let Some((image, known)) = &self.selftest else {
            return Ok(1.0);
        };
        let computed = self.embed(std::slice::from_ref(image)).await?;
        Ok(cosine(&computed[0], known))
    }

    /// Returns the smallest cosine of the [self-test](Self::self_test) of an engine that computes right
    /// results.
    #[must_use]
    pub fn least_cosine(&self) -> f32 {
        least_cosine(self.image_part.arithmetic())
    }

    /// Returns the path of a photo in the taxonomy of a classifier, the bundle's own or a visitor's, and the probability
    /// of every node. The path goes on to a node that the detectors confirm. `below` as in
    /// [`Classifier::probabilities`].
    #[must_use]
    pub fn place(
        &self,
        classifier: &Classifier,
        embedding: &[f32],
        below: Option<NodeIx>,
    ) -> Placement {
        self.place_and_detect(classifier, embedding, below).0
    }

    /// As [`place`](Self::place); also returns the detectors, if there are any, with the probability of each part.
    fn place_and_detect(
        &self,
        classifier: &Classifier,
        embedding: &[f32],
        below: Option<NodeIx>,
    ) -> (Placement, Option<(&Detectors, Vec<f64>)>) {
        let place = classifier.place(&self.space, embedding, below);
        let Some(detectors) = &self.detectors else {
            return (place, None);
        };
        // All labels of the bundle decide which subjects are denied.
        let denied = if below.is_none() && std::ptr::eq(classifier, &self.classifier) {
            detectors.denied(classifier.taxonomy(), &place.shares)
        } else {
            let own = self.classifier.place(&self.space, embedding, None);
            detectors.denied(self.classifier.taxonomy(), &own.shares)
        };
        let p = detectors.probabilities(embedding, &denied);
        let place = detectors.confirm(place, classifier.taxonomy(), &p);
        (place, Some((detectors, p)))
    }

    /// Returns the ladder and taxonomy path of an embedding.
    #[must_use]
    pub fn rank(&self, embedding: &[f32]) -> Caption {
        self.ranked(embedding, None)
    }

    /// As [`rank`](Self::rank), for a photo that is known to show something at or below a node if one is given.
    ///
    /// # Errors
    /// [`crate::CoreError::Taxonomy`] for a node that the taxonomy lacks, or that has no label at
    /// or below it.
    pub(super) fn rank_within(&self, embedding: &[f32], below: Option<&str>) -> Result<Caption> {
        let below = below.map(|node| self.classifier.node_with_labels(node));
        Ok(self.ranked(embedding, below.transpose()?))
    }

    fn ranked(&self, embedding: &[f32], below: Option<NodeIx>) -> Caption {
        let (place, detected) = self.place_and_detect(&self.classifier, embedding, below);
        let scores = self.index.scores(&self.space, embedding);
        let taxonomy = self.classifier.taxonomy();
        let ladder = ladder::build(&self.index, &scores, taxonomy, &place.path);
        let caption = Caption::of_tree(ladder, TaxonomyResult::of(taxonomy, &place.path));
        match detected {
            Some((detectors, p)) => caption.told(detectors, p, &self.space, embedding),
            None => caption,
        }
    }

    /// Returns the parts of statements that a phrase mentions, with the probability that a photo shows each; none
    /// without detectors.
    #[must_use]
    pub fn asked(&self, phrase: &str, embedding: &[f32]) -> Vec<Shown> {
        let (_, detected) = self.place_and_detect(&self.classifier, embedding, None);
        detected.map_or_else(Vec::new, |(detectors, p)| detectors.asked(phrase, &p))
    }

    /// Returns the path from the root to a node, with the photo's probability of each step.
    ///
    /// # Errors
    /// [`crate::CoreError::Taxonomy`] for a node that the taxonomy lacks.
    pub fn lineage(&self, embedding: &[f32], node: &str) -> Result<Lineage> {
        let taxonomy = self.classifier.taxonomy();
        let target = self.classifier.node(node)?;
        let place = self.place(&self.classifier, embedding, None);
        let on_path = |ix: &NodeIx| place.path.steps.iter().any(|(step, _)| step == ix);
        let path = taxonomy.path_to(target);
        let shared = path.iter().rev().find(|ix| on_path(ix));
        let shared = *shared.unwrap_or(&taxonomy.root());
        let step = |ix: &NodeIx| PathStep::of(taxonomy, *ix, place.p[ix.index()]);
        Ok(Lineage {
            id: node.to_owned(),
            name: taxonomy.name(target).to_owned(),
            shared: taxonomy.node(shared).id.clone(),
            path: path.iter().map(step).collect(),
        })
    }
}

impl PathStep {
    fn of(taxonomy: &Taxonomy, ix: NodeIx, p: f32) -> Self {
        Self {
            id: taxonomy.node(ix).id.clone(),
            name: taxonomy.name(ix).to_owned(),
            p: f64::from(p),
        }
    }
}

impl TaxonomyResult {
    /// Returns a path with the ids and names of its nodes.
    #[must_use]
    pub fn of(taxonomy: &Taxonomy, path: &TaxonomyPath) -> Self {
        let step = |(ix, p): &(NodeIx, f32)| PathStep::of(taxonomy, *ix, *p);
        let path_steps: Vec<PathStep> = path.steps.iter().map(step).collect();
        let stop = path_steps
            .get(path.stop)
            .map_or_else(String::new, |s| s.id.clone());
        Self {
            path: path_steps,
            stop,
        }
    }
}
