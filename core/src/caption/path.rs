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

    /// A node by its id.
    ///
    /// # Errors
    /// [`CoreError::Taxonomy`] when the taxonomy lacks it.
    pub fn node(&self, id: &str) -> Result<NodeIx> {
        let unknown = || CoreError::Taxonomy {
            line: 0,
            reason: format!("expected the id of a node, found `{id}`, which it does not have"),
        };
        self.taxonomy.find(id).ok_or_else(unknown)
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
        self.descended(&self.probabilities(space, picture))
    }

    /// The path of a photo that is known to show something at or below a node: probabilities given
    /// that, so the node itself has 1.
    ///
    /// # Errors
    /// [`CoreError::Taxonomy`] when the taxonomy lacks the node or has no label at or below it.
    pub fn path_below(&self, space: &Space, picture: &[f32], node: &str) -> Result<TaxonomyPath> {
        let known = self.node(node)?;
        if self.taxonomy.labelled_below(known).is_empty() {
            return Err(CoreError::Taxonomy {
                line: 0,
                reason: format!("no node at or below `{node}` is labelled"),
            });
        }
        let p = self.probabilities(space, picture);
        let given = |ix: NodeIx| {
            if ix == known || self.taxonomy.is_ancestor(ix, known) {
                1.0
            } else if self.taxonomy.is_ancestor(known, ix) && p[known.index()] > 0.0 {
                p[ix.index()] / p[known.index()]
            } else {
                0.0
            }
        };
        let given: Vec<f32> = (0..p.len()).map(|i| given(NodeIx(i as u32))).collect();
        Ok(self.descended(&given))
    }

    fn descended(&self, nodes: &[f32]) -> TaxonomyPath {
        let descent = descend(&self.taxonomy, nodes, self.calibration.threshold as f32);
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn classifier() -> Classifier {
        let tree = "synset\tnames\thypernyms\tlabelled\n\
            r\tthing\t\t0\na\tanimal\tr\t0\nc\tcat\ta\t1\nd\tdog\ta\t1\nt\ttable\tr\t1\nx\tvoid\tr\t0\n";
        let labels = vec![1.0, 0.0, 0.0, 1.0, -1.0, 0.0];
        let calibration = Calibration::of_scale(2.0);
        Classifier::new(Taxonomy::from_tsv(tree).unwrap(), labels, 2, calibration).unwrap()
    }

    #[test]
    fn below_a_node_probabilities_are_those_given_the_node() {
        let (classifier, space) = (
            classifier(),
            Space::Sphere {
                root: vec![0.0, 1.0],
            },
        );
        let picture = [-0.8, 0.6];
        let all = classifier.probabilities(&space, &picture);
        let of = |id: &str| f64::from(all[classifier.node(id).unwrap().index()]);
        let path = classifier.path_below(&space, &picture, "a").unwrap();
        let ids: Vec<&str> = path
            .steps
            .iter()
            .map(|(ix, _)| classifier.taxonomy().node(*ix).id.as_str())
            .collect();
        assert_eq!(ids, ["r", "a", "d"]);
        assert!((path.steps[1].1 - 1.0).abs() < 1e-6);
        assert!((f64::from(path.steps[2].1) - of("d") / of("a")).abs() < 1e-6);
    }

    #[test]
    fn a_node_that_is_unknown_or_without_labels_is_an_error() {
        let (classifier, space) = (
            classifier(),
            Space::Sphere {
                root: vec![0.0, 1.0],
            },
        );
        for (node, told) in [("n9", "`n9`"), ("x", "labelled")] {
            let error = classifier
                .path_below(&space, &[1.0, 0.0], node)
                .unwrap_err();
            assert!(error.to_string().contains(told), "{error}");
        }
    }
}
