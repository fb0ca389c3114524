//! Where a photo lies in the taxonomy, and how far down the evidence carries.

use super::calibration::Calibration;
use super::files;
use super::index::embedding_rows;
use crate::bundle::BundleFiles;
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::taxonomy::{NodeIx, Taxonomy, descend, roll_up};

/// The path of a photo.
#[derive(Clone, Debug, PartialEq)]
pub struct TaxonomyPath {
    /// Nodes from the root to a labelled leaf with their probabilities, which never grow.
    pub steps: Vec<(NodeIx, f32)>,
    /// Index in `steps` of the deepest node that the evidence carries.
    pub stop: usize,
}

/// Zero-shot classifier over the labelled nodes of a taxonomy.
#[derive(Clone, Debug)]
pub struct Classifier {
    taxonomy: Taxonomy,
    labels: Vec<f32>,
    width: usize,
    calibration: Calibration,
}

impl Classifier {
    /// Classifier over label embeddings `[labelled, width]` in the order of
    /// [`Taxonomy::labelled`].
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when an embedding is not finite or the calibration makes no sense.
    pub fn new(
        taxonomy: Taxonomy,
        labels: Vec<f32>,
        width: usize,
        calibration: Calibration,
    ) -> Result<Self> {
        let fault = |file: &str, reason: String| CoreError::Bundle {
            file: file.into(),
            reason,
        };
        if let Some(at) = labels.iter().position(|v| !v.is_finite()) {
            let reason = format!("the embedding of label {} is not finite", at / width);
            return Err(fault(files::LABEL_EMBEDDINGS, reason));
        }
        if taxonomy.labelled().is_empty() {
            return Err(fault(files::TAXONOMY, "no node is labelled".into()));
        }
        if let Some(reason) = calibration.fault() {
            return Err(fault(files::CALIBRATION, reason));
        }
        Ok(Self {
            taxonomy,
            labels,
            width,
            calibration,
        })
    }

    /// Read the classifier of a bundle.
    ///
    /// # Errors
    /// [`CoreError::Bundle`], [`CoreError::Taxonomy`] or a tensor error.
    pub fn read(bundle: &BundleFiles, width: usize) -> Result<Self> {
        let taxonomy = Taxonomy::from_tsv(bundle.text(files::TAXONOMY)?)?;
        let calibration = Calibration::read(bundle)?;
        let tensors = bundle.tensors(files::LABEL_EMBEDDINGS)?;
        let labels = embedding_rows(&tensors, taxonomy.labelled().len(), width)?.to_vec();
        Self::new(taxonomy, labels, width, calibration)
    }

    /// The taxonomy.
    #[must_use]
    pub fn taxonomy(&self) -> &Taxonomy {
        &self.taxonomy
    }

    /// Logit of every label, in the order of [`Taxonomy::labelled`], before the scale.
    #[must_use]
    pub fn logits(&self, space: &Space, picture: &[f32]) -> Vec<f64> {
        self.labels
            .chunks(self.width)
            .map(|label| space.logit(label, picture))
            .collect()
    }

    /// Probability of every node that a photo shows it, with [`Taxonomy::nodes`]; none is above that
    /// of a node it lies below.
    #[must_use]
    pub fn probabilities(&self, space: &Space, picture: &[f32]) -> Vec<f32> {
        let leaves = softmax(&self.logits(space, picture), self.calibration.scale);
        let shares = roll_up(&self.taxonomy, &leaves);
        let levelled = |ix: NodeIx| {
            let depth = self.taxonomy.depth(ix);
            self.calibration.at_depth(depth, shares[ix.index()])
        };
        // Levels are fitted one by one; what lies below cannot be more likely all the same.
        let least = |ix: NodeIx| {
            let above = self.taxonomy.ancestors(ix).iter();
            above.fold(levelled(ix), |p, a| p.min(levelled(*a)))
        };
        (0..shares.len()).map(|i| least(NodeIx(i as u32))).collect()
    }

    /// The path of a photo.
    #[must_use]
    pub fn path(&self, space: &Space, picture: &[f32]) -> TaxonomyPath {
        let nodes = self.probabilities(space, picture);
        let descent = descend(&self.taxonomy, &nodes, self.calibration.threshold as f32);
        TaxonomyPath {
            steps: descent.path,
            stop: descent.stop,
        }
    }

    /// The same classifier with another calibration.
    ///
    /// # Errors
    /// [`CoreError::Bundle`] when it makes no sense.
    pub fn with_calibration(self, calibration: Calibration) -> Result<Self> {
        Self::new(self.taxonomy, self.labels, self.width, calibration)
    }
}

/// Softmax of `scale * logits`, free of overflow.
#[must_use]
pub fn softmax(logits: &[f64], scale: f64) -> Vec<f32> {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|l| ((l - top) * scale).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| (w / sum) as f32).collect()
}
