//! Zero-shot classification: the path of a photo in the taxonomy, and the depth to which the evidence supports it.

use super::calibration::Calibration;
use super::evidence::ImageEvidence;
use super::files::{self, EMBEDDINGS};
use super::node_scores::{NodeScores, evaluate};
use crate::bundle::BundleFiles;
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::taxonomy::{NodeIx, Taxonomy, TaxonomyPath, descend, roll_up};

/// Share of the labels of the first informative node that a node below it needs to say nearly the same.
const SAME: f64 = 0.9;

/// A photo's path and its probability of every node of a taxonomy.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// Its path.
    pub path: TaxonomyPath,
    /// Probability of each node, in the order of [`Taxonomy::nodes`].
    pub p: Vec<f32>,
    /// Share of the labels at or below each node, in the same order, before any evidence.
    pub shares: Vec<f32>,
}

/// Zero-shot classifier over the labelled nodes of a taxonomy.
#[derive(Clone, Debug)]
pub struct Classifier {
    taxonomy: Taxonomy,
    labels: Vec<f32>,
    width: usize,
    calibration: Calibration,
    /// Offset added to the logit of each label; empty if there is none.
    offsets: Vec<f64>,
}

impl Classifier {
    /// Creates a classifier from label embeddings `[labelled, width]` in the order of
    /// [`Taxonomy::labelled`].
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when an embedding is not finite or the calibration is invalid.
    pub fn new(
        taxonomy: Taxonomy,
        labels: Vec<f32>,
        width: usize,
        calibration: Calibration,
    ) -> Result<Self> {
        if let Some(index) = labels.iter().position(|v| !v.is_finite()) {
            let reason = format!("the embedding of label {} is not finite", index / width);
            return Err(CoreError::bundle(files::LABEL_EMBEDDINGS, reason));
        }
        if taxonomy.labelled().is_empty() {
            return Err(CoreError::bundle(files::TAXONOMY, "no node is labelled"));
        }
        if let Some(reason) = calibration.fault() {
            return Err(CoreError::bundle(files::CALIBRATION, reason));
        }
        Ok(Self {
            taxonomy,
            labels,
            width,
            calibration,
            offsets: Vec::new(),
        })
    }

    /// Returns the same classifier with numbers that are added to the logits of its labels, in the
    /// order of [`Taxonomy::labelled`].
    pub(super) fn with_offsets(self, offsets: Vec<f64>) -> Self {
        Self { offsets, ..self }
    }

    /// Returns the length of an embedding.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Reads the classifier of a bundle.
    ///
    /// # Errors
    /// [`CoreError::Bundle`], [`CoreError::Taxonomy`] or a tensor error.
    pub fn read(bundle: &BundleFiles, width: usize) -> Result<Self> {
        let taxonomy = Taxonomy::from_tsv(bundle.text(files::TAXONOMY)?)?;
        let calibration = Calibration::read(bundle)?;
        let tensors = bundle.tensors(files::LABEL_EMBEDDINGS)?;
        let shape = [taxonomy.labelled().len(), width];
        let labels = files::values(&tensors, EMBEDDINGS, &shape)?.to_vec();
        Self::new(taxonomy, labels, width, calibration)
    }

    /// Returns the taxonomy.
    #[must_use]
    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// Returns the logit of every label, in the order of [`Taxonomy::labelled`], before scaling.
    #[must_use]
    pub fn logits(&self, space: &Space, image: &[f32]) -> Vec<f64> {
        self.labels
            .chunks(self.width)
            .zip(self.offsets.iter().chain(std::iter::repeat(&0.0)))
            .map(|(label, offset)| space.logit(label, image) + offset)
            .collect()
    }

    /// Finds a node by its id.
    ///
    /// # Errors
    /// [`CoreError::Taxonomy`] when the taxonomy lacks it.
    pub fn node(&self, id: &str) -> Result<NodeIx> {
        let unknown = || CoreError::Taxonomy {
            line: 0,
            reason: format!("expected the id of a node of the taxonomy, found `{id}`"),
        };
        self.taxonomy.find(id).ok_or_else(unknown)
    }

    /// Returns the probability that a photo shows each node, in the order of [`Taxonomy::nodes`];
    /// never larger than the probability of an ancestor. With `below`, the photo is known to show
    /// something at or below that node: only its labels take part, and the radius does not lower
    /// the confidence.
    #[must_use]
    pub fn probabilities(&self, space: &Space, image: &[f32], below: Option<NodeIx>) -> Vec<f32> {
        self.score_nodes(space, image, below).p
    }

    fn score_nodes(&self, space: &Space, image: &[f32], below: Option<NodeIx>) -> NodeScores {
        let mut logits = self.logits(space, image);
        let allowed = below.map_or(&[][..], |node| self.taxonomy.labelled_below(node));
        if !allowed.is_empty() {
            for (logit, label) in logits.iter_mut().zip(self.taxonomy.labelled()) {
                if allowed.binary_search(label).is_err() {
                    *logit = f64::NEG_INFINITY;
                }
            }
        }
        let leaves = softmax(&logits, self.calibration.scale);
        let shares = roll_up(&self.taxonomy, &leaves);
        let best = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (taxonomy, calibration) = (&self.taxonomy, &self.calibration);
        let evidence = ImageEvidence {
            best: calibration.scale * best,
            radius: space.radius(image),
        };
        evaluate(taxonomy, calibration, evidence, !allowed.is_empty(), shares)
    }

    /// Returns the path of a photo.
    #[must_use]
    pub fn path(&self, space: &Space, image: &[f32]) -> TaxonomyPath {
        self.place(space, image, None).path
    }

    /// Finds a node that has labels at or below it by its id.
    ///
    /// # Errors
    /// [`CoreError::Taxonomy`] when the taxonomy lacks the node or has no label at or below it.
    pub fn node_with_labels(&self, id: &str) -> Result<NodeIx> {
        let node = self.node(id)?;
        if self.taxonomy.labelled_below(node).is_empty() {
            return Err(CoreError::Taxonomy {
                line: 0,
                reason: format!("no node at or below `{id}` is labelled"),
            });
        }
        Ok(node)
    }

    /// Returns the path of a photo and the [`probabilities`](Self::probabilities) of all nodes.
    #[must_use]
    pub fn place(&self, space: &Space, image: &[f32], below: Option<NodeIx>) -> Placement {
        let NodeScores { shares, p, support } = self.score_nodes(space, image, below);
        let supported = |ix: NodeIx| f64::from(support[ix.index()]) >= self.threshold_of(ix);
        Placement {
            path: descend(&self.taxonomy, &shares, &p, supported),
            p,
            shares,
        }
    }

    /// Returns the smallest support with which a path may stop at a node. The first informative node has a threshold of
    /// its own, as have the nodes below it that say nearly the same: "living thing", "organism", "animal".
    fn threshold_of(&self, node: NodeIx) -> f64 {
        let taxonomy = &self.taxonomy;
        let labels = |ix: NodeIx| taxonomy.labelled_below(ix).len() as f64;
        let mut path = taxonomy.path_to(node).into_iter();
        let first = path.find(|ix| taxonomy.is_informative(*ix));
        let is_like_first = first.is_some_and(|first| {
            node == first || !taxonomy.node(node).labelled && labels(node) >= SAME * labels(first)
        });
        let threshold = self.calibration.first_threshold.filter(|_| is_like_first);
        threshold.unwrap_or(self.calibration.threshold)
    }

    /// Returns the points of the labels, `[labelled, width]` row by row, in the order of
    /// [`Taxonomy::labelled`].
    pub fn labels(&self) -> impl Iterator<Item = &[f32]> {
        self.labels.chunks(self.width)
    }

    /// Returns the same classifier without some of its labels. Their nodes stay in the taxonomy.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when no label is left.
    pub fn without_labels(&self, is_removed: impl Fn(NodeIx) -> bool) -> Result<Self> {
        let labelled = self.taxonomy.labelled().iter().zip(self.labels());
        let remaining = labelled.filter(|(ix, _)| !is_removed(**ix));
        let labels = remaining
            .flat_map(|(_, point)| point.iter().copied())
            .collect();
        let taxonomy = self.taxonomy.clone().with_labels(|ix| !is_removed(ix));
        Self::new(taxonomy, labels, self.width, self.calibration.clone())
    }

    /// Maps scores to probabilities.
    #[must_use]
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Returns the same classifier with another calibration.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it is invalid.
    pub fn with_calibration(self, calibration: Calibration) -> Result<Self> {
        Self::new(self.taxonomy, self.labels, self.width, calibration)
    }
}

/// Returns the softmax of `scale * logits`, without overflow.
#[must_use]
pub fn softmax(logits: &[f64], scale: f64) -> Vec<f32> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|l| ((l - top) * scale).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| (w / sum) as f32).collect()
}

#[cfg(test)]
mod tests;
