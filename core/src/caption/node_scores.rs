//! Probability and support of the nodes of a taxonomy for one photo.

use super::calibration::Calibration;
use super::evidence::{Evidence, ImageEvidence};
use crate::taxonomy::{NodeIx, Taxonomy};

/// Values for all nodes, in the order of [`Taxonomy::nodes`].
pub(super) struct NodeScores {
    /// Softmax shares at or below each node.
    pub(super) shares: Vec<f32>,
    /// Probabilities.
    pub(super) p: Vec<f32>,
    /// Support of each node: a path continues while this reaches the threshold.
    pub(super) support: Vec<f32>,
}

/// A model of evidence: the value of a node from its share and its number of labels.
type ValueModel = fn(&Evidence, f64, usize, ImageEvidence) -> f64;

/// Maps the softmax shares of a photo to probabilities.
pub(super) struct NodeModel<'a> {
    taxonomy: &'a Taxonomy,
    calibration: &'a Calibration,
    evidence: Option<&'a Evidence>,
    image: ImageEvidence,
    /// Probability that the photo shows something that the model knows.
    known: f32,
}

impl<'a> NodeModel<'a> {
    /// Creates the model for a photo. With `is_restricted`, only some labels take part.
    pub(super) fn new(
        taxonomy: &'a Taxonomy,
        calibration: &'a Calibration,
        image: ImageEvidence,
        is_restricted: bool,
    ) -> Self {
        // The evidence model does not apply to a restricted set of labels: one of them is right.
        let evidence = calibration.evidence.as_ref().filter(|_| !is_restricted);
        let known = if is_restricted {
            1.0
        } else {
            calibration.known(image.radius)
        };
        Self {
            taxonomy,
            calibration,
            evidence,
            image,
            known,
        }
    }

    /// Evaluates all nodes from their softmax shares.
    pub(super) fn evaluate(&self, shares: Vec<f32>) -> NodeScores {
        let p = self.values(&shares, Evidence::probability);
        NodeScores {
            support: match self.evidence {
                Some(Evidence {
                    stop_weights: Some(_),
                    ..
                }) => self.values(&shares, Evidence::support),
                _ => p.clone(),
            },
            p,
            shares,
        }
    }

    /// Evaluates all nodes with a model; no value is larger than that of an ancestor.
    fn values(&self, shares: &[f32], model: ValueModel) -> Vec<f32> {
        let root = self.taxonomy.root();
        let value_of = |(i, share): (usize, &f32)| {
            let ix = NodeIx(i as u32);
            match self.evidence {
                Some(_) if ix == root || *share <= 0.0 => *share,
                Some(evidence) => {
                    let labels = self.taxonomy.labelled_below(ix).len();
                    model(evidence, f64::from(*share), labels, self.image) as f32
                }
                None => self.calibration.at_depth(self.taxonomy.depth(ix), *share),
            }
        };
        let independent: Vec<f32> = shares.iter().enumerate().map(value_of).collect();
        // Each node is evaluated on its own, so limit it to the smallest value of its ancestors.
        let limited = |i: usize| {
            let ix = NodeIx(i as u32);
            let above = self.taxonomy.ancestors(ix).iter();
            let smallest = above.fold(independent[i], |p, a| p.min(independent[a.index()]));
            smallest * if ix == root { 1.0 } else { self.known }
        };
        (0..independent.len()).map(limited).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn neither_the_root_nor_what_is_impossible_is_judged_by_evidence() {
        let tsv = "synset\tnames\thypernyms\tlabelled\n\
            r\tthing\t\t0\na\tanimal\tr\t0\nc\tcat\ta\t1\nt\ttable\tr\t1\n";
        let taxonomy = Taxonomy::from_tsv(tsv).unwrap();
        let evidence = Evidence {
            weights: vec![1.0, 1.0],
            stop_weights: None,
            best: [0.0, 1.0],
            radius: [1.0, 1.0],
        };
        let calibration = Calibration {
            evidence: Some(evidence),
            ..Calibration::of_scale(1.0)
        };
        let image = ImageEvidence {
            best: 1.0,
            radius: 1.0,
        };
        let model = NodeModel::new(&taxonomy, &calibration, image, false);
        let scores = model.evaluate(vec![1.0, 0.9, 0.9, 0.0]);
        let p = |id: &str| scores.p[taxonomy.find(id).unwrap().index()];
        assert_eq!((p("r"), p("t")), (1.0, 0.0));
        assert!(p("c") > 0.9 && p("c") < 1.0, "{}", p("c"));
    }
}
