//! The path of a photo in the taxonomy, and the depth to which the evidence supports it.

use super::calibration::Calibration;
use super::evidence::ImageEvidence;
use super::files;
use super::index::embedding_rows;
use super::node_scores::{NodeModel, NodeScores};
use crate::bundle::BundleFiles;
use crate::error::{CoreError, Result};
use crate::geometry::Space;
use crate::taxonomy::{NodeIx, Taxonomy, descend, roll_up};

/// Share of the labels of the first informative node that a node below it needs to say nearly the same.
const SAME: f64 = 0.9;

/// The path of a photo.
#[derive(Clone, Debug, PartialEq)]
pub struct TaxonomyPath {
    /// Nodes from the root to a labelled leaf with their probabilities, which never increase.
    pub steps: Vec<(NodeIx, f32)>,
    /// Index in `steps` of the deepest node that the evidence supports.
    pub stop: usize,
}

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
        let invalid = |file: &str, reason: String| CoreError::Bundle {
            file: file.into(),
            reason,
        };
        if let Some(index) = labels.iter().position(|v| !v.is_finite()) {
            let reason = format!("the embedding of label {} is not finite", index / width);
            return Err(invalid(files::LABEL_EMBEDDINGS, reason));
        }
        if taxonomy.labelled().is_empty() {
            return Err(invalid(files::TAXONOMY, "no node is labelled".into()));
        }
        if let Some(reason) = calibration.fault() {
            return Err(invalid(files::CALIBRATION, reason));
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
        let labels = embedding_rows(&tensors, taxonomy.labelled().len(), width)?.to_vec();
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
        let evidence = ImageEvidence {
            best: self.calibration.scale * best,
            radius: space.radius(image),
        };
        let nodes = NodeModel::new(
            &self.taxonomy,
            &self.calibration,
            evidence,
            !allowed.is_empty(),
        );
        nodes.evaluate(shares)
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
        let descent = descend(&self.taxonomy, &shares, &p, supported);
        Placement {
            path: TaxonomyPath {
                steps: descent.path,
                stop: descent.stop,
            },
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

    /// Returns the label whose point is nearest to a phrase's.
    #[must_use]
    pub fn nearest(&self, space: &Space, phrase: &[f32]) -> NodeIx {
        let logits = self.logits(space, phrase);
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        best.and_then(|i| self.taxonomy.labelled().get(i).copied())
            .unwrap_or(self.taxonomy.root())
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::caption::evidence::Evidence;

    const TREE: &str = "synset\tnames\thypernyms\tlabelled\n\
        r\tthing\t\t0\n\
        a\tanimal\tr\t0\n\
        w\twren\ta\t1\n\
        c\tcat\ta\t1\n\
        t\ttable\tr\t1\n\
        x\tvoid\tr\t0\n";

    fn classifier(levels: &[f64]) -> (Classifier, Space) {
        let labels = vec![1.0, 0.0, 0.6, 0.8, 0.0, 1.0];
        let calibration = Calibration {
            levels: levels.to_vec(),
            ..Calibration::of_scale(4.0)
        };
        let taxonomy = Taxonomy::from_tsv(TREE).unwrap();
        let space = Space::Sphere {
            root: vec![-1.0, 0.0],
        };
        let classifier = Classifier::new(taxonomy, labels, 2, calibration).unwrap();
        (classifier, space)
    }

    #[test]
    fn softmax_does_not_overflow() {
        let p = softmax(&[2_000.0, 1_999.0, -5_000.0], 1.0);
        let larger = 1.0 / (1.0 + (-1.0_f32).exp());
        assert!(
            (p[0] - larger).abs() < 1e-6 && (p[1] - (1.0 - larger)).abs() < 1e-6,
            "{p:?}"
        );
        assert_eq!(p[2], 0.0);
    }

    #[test]
    fn evidence_is_the_best_logit_of_the_calibrated_scale() {
        let (classifier, space) = classifier(&[]);
        let evidence = Evidence {
            weights: vec![1.0, 0.0, 0.0, 1.0],
            stop_weights: None,
            best: [2.0, 1.0],
            radius: [1.0, 1.0],
        };
        let calibration = Calibration {
            evidence: Some(evidence.clone()),
            ..Calibration::of_scale(4.0)
        };
        let photo = [0.3, 0.4];
        let at = classifier.node("c").unwrap().index();
        let share = f64::from(classifier.place(&space, &photo, None).p[at]);
        let judged = classifier.with_calibration(calibration).unwrap();
        let found = f64::from(judged.place(&space, &photo, None).p[at]);
        // The photo has half the length of the point of `cat`, so its best logit is 0.5.
        let seen = ImageEvidence {
            best: 2.0,
            radius: space.radius(&photo),
        };
        let expected = evidence.probability(share, 1, seen);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn the_first_informative_node_has_its_own_threshold() {
        let (classifier, _) = classifier(&[]);
        let calibration = Calibration {
            threshold: 0.8,
            first_threshold: Some(0.5),
            ..Calibration::of_scale(4.0)
        };
        let classifier = classifier.with_calibration(calibration).unwrap();
        let threshold = |id: &str| classifier.threshold_of(classifier.node(id).unwrap());
        // Two of three labels are animals, so `animal` says little; `table` and the labels below
        // `animal` are the first nodes that say something. `void` has no label below it.
        assert_eq!(["r", "a", "x"].map(threshold), [0.8; 3]);
        assert_eq!(["t", "w", "c"].map(threshold), [0.5; 3]);
    }

    #[test]
    fn below_a_node_only_its_labels_share_the_probability() {
        let (classifier, space) = classifier(&[]);
        let node = |id: &str| classifier.node(id).unwrap();
        let photo = [0.0, 1.0];
        let open = classifier.place(&space, &photo, None);
        assert_eq!(open.path.steps.last().unwrap().0, node("t"));
        let restricted = classifier.place(&space, &photo, Some(node("a")));
        assert_eq!(restricted.path.steps.last().unwrap().0, node("c"));
        let p = |id: &str| restricted.p[node(id).index()];
        assert!((p("a") - 1.0).abs() < 1e-6 && p("t").abs() < 1e-6);
        // softmax of 4 * 0.8 against 4 * 0.
        let expected = 1.0 / (1.0 + (-3.2_f32).exp());
        assert!((p("c") - expected).abs() < 1e-6, "{}", p("c"));
    }

    #[test]
    fn a_level_sharpens_its_nodes_and_none_rises_above_its_parent() {
        let photo = [0.0, 1.0];
        let (plain, space) = classifier(&[]);
        let (levelled, _) = classifier(&[1.0, 0.5, 3.0]);
        let (before, after) = (
            plain.probabilities(&space, &photo, None),
            levelled.probabilities(&space, &photo, None),
        );
        let of = |p: &[f32], id: &str| f64::from(p[plain.node(id).unwrap().index()]);
        let table = of(&before, "t");
        let known = table.sqrt() / (table.sqrt() + (1.0 - table).sqrt());
        assert!((of(&after, "t") - known).abs() < 1e-5);
        for leaf in ["w", "c"] {
            assert!(of(&after, leaf) <= of(&after, "a"), "{leaf}");
        }
    }

    #[test]
    fn the_path_of_an_unfamiliar_photo_stops_at_the_root() {
        let (classifier, space) = classifier(&[]);
        let photo = [0.0, 1.0];
        let radius = space.radius(&photo);
        let of = |radii| {
            let calibration = Calibration {
                radii: Some(radii),
                ..classifier.calibration().clone()
            };
            let changed = classifier.clone().with_calibration(calibration).unwrap();
            let below = changed.node("a").unwrap();
            let p = changed.probabilities(&space, &photo, Some(below));
            (changed.place(&space, &photo, None), p[below.index()])
        };
        let (place, asked) = of([radius + 0.1, radius + 0.2]);
        assert_eq!(place.path.stop, 0);
        assert!(place.path.steps[1..].iter().all(|(_, p)| *p == 0.0));
        assert!((place.path.steps[0].1 - 1.0).abs() < 1e-6);
        assert!((asked - 1.0).abs() < 1e-6, "{asked}");
        let (place, _) = of([radius - 0.2, radius - 0.1]);
        assert_eq!(place, classifier.place(&space, &photo, None));
    }

    #[test]
    fn without_its_label_a_photo_gets_another_path() {
        let (classifier, space) = classifier(&[]);
        let table = classifier.node("t").unwrap();
        let fewer = classifier.without_labels(|ix| ix == table).unwrap();
        assert_eq!(fewer.taxonomy().labelled().len(), 2);
        let last = |of: &Classifier| of.path(&space, &[0.0, 1.0]).steps.last().unwrap().0;
        assert_eq!(last(&classifier), table);
        assert_eq!(last(&fewer), classifier.node("c").unwrap());
        assert!(classifier.without_labels(|_| true).is_err());
    }

    #[test]
    fn the_first_informative_node_may_be_less_certain() {
        let (classifier, space) = classifier(&[]);
        let stop = |threshold, first_threshold| {
            let calibration = Calibration {
                threshold,
                first_threshold,
                ..classifier.calibration().clone()
            };
            let changed = classifier.clone().with_calibration(calibration);
            changed.map(|c| c.path(&space, &[0.0, 1.0]).stop).ok()
        };
        let steps = classifier.path(&space, &[0.0, 1.0]).steps;
        let above_all = f64::from(steps[1].1) + 0.01;
        assert_eq!(stop(above_all, None), Some(0));
        let first = f64::from(steps[1].1) - 0.01;
        assert_eq!(stop(above_all, Some(first)), Some(1));
        assert_eq!(stop(0.5, Some(0.6)), None, "above the threshold");
    }

    #[test]
    fn nodes_that_say_nearly_the_same_as_the_first_informative_one_share_its_threshold() {
        let mut tsv =
            "synset\tnames\thypernyms\tlabelled\nr\tall\t\t0\nt\tthing\tr\t0\nl\tliving\tr\t0\n\
            a\tanimal\tl\t0\np\tplant\tl\t1\nd\tdog\ta\t0\n"
                .to_owned();
        for (parent, count) in [("t", 10), ("d", 5), ("a", 4)] {
            for i in 0..count {
                tsv.push_str(&format!("{parent}{i}\t{parent} {i}\t{parent}\t1\n"));
            }
        }
        let taxonomy = Taxonomy::from_tsv(&tsv).unwrap();
        let calibration = Calibration {
            threshold: 0.8,
            first_threshold: Some(0.4),
            ..Calibration::of_scale(1.0)
        };
        let labels = taxonomy.labelled().len();
        let classifier = Classifier::new(taxonomy, vec![0.0; labels], 1, calibration).unwrap();
        let threshold = |id: &str| classifier.threshold_of(classifier.node(id).unwrap());
        assert_eq!(["t", "l", "a"].map(threshold), [0.4; 3]);
        assert_eq!(["r", "d", "p", "a0", "t0"].map(threshold), [0.8; 5]);
    }

    #[test]
    fn the_stop_has_separate_weights() {
        let (classifier, space) = classifier(&[]);
        let with = |stop_weights: Option<Vec<f64>>| {
            let calibration = Calibration {
                evidence: Some(Evidence {
                    weights: vec![1.0],
                    stop_weights,
                    best: [0.0, 1.0],
                    radius: [0.0, 1.0],
                }),
                ..classifier.calibration().clone()
            };
            let changed = classifier.clone().with_calibration(calibration).unwrap();
            changed.path(&space, &[0.6, 0.8])
        };
        let (default, careful) = (with(None), with(Some(vec![1.0, -9.0])));
        assert_eq!(
            default.steps, careful.steps,
            "the probabilities stay the same"
        );
        assert!(default.stop > 0);
        assert_eq!(careful.stop, 0);
    }

    #[test]
    fn a_node_that_is_unknown_or_without_labels_is_an_error() {
        let (classifier, _) = classifier(&[]);
        for (node, expected) in [("n9", "`n9`"), ("x", "labelled")] {
            let error = classifier.node_with_labels(node).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn the_nearest_label_of_a_phrase_is_the_one_that_scores_highest() {
        let (classifier, space) = classifier(&[]);
        let nearest = classifier.nearest(&space, &[0.9, 0.1]);
        assert_eq!(classifier.taxonomy().name(nearest), "wren");
    }
}
