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

/// Evaluates all nodes from the softmax shares of a photo. With `is_restricted`, only some labels take part.
pub(super) fn evaluate(
    taxonomy: &Taxonomy,
    calibration: &Calibration,
    image: ImageEvidence,
    is_restricted: bool,
    shares: Vec<f32>,
) -> NodeScores {
    // The evidence model does not apply to a restricted set of labels: one of them is right.
    let evidence = calibration.evidence.as_ref().filter(|_| !is_restricted);
    // Probability that the photo shows something that the model knows.
    let known = match is_restricted {
        true => 1.0,
        false => calibration.known(image.radius),
    };
    let root = taxonomy.root();
    // Evaluates all nodes with a model; no value is larger than that of an ancestor.
    let values = |model: ValueModel| -> Vec<f32> {
        let value_of = |(i, share): (usize, &f32)| {
            let ix = NodeIx(i as u32);
            match evidence {
                Some(_) if ix == root || *share <= 0.0 => *share,
                Some(evidence) => {
                    let labels = taxonomy.labelled_below(ix).len();
                    model(evidence, f64::from(*share), labels, image) as f32
                }
                None => calibration.at_depth(taxonomy.depth(ix), *share),
            }
        };
        let independent: Vec<f32> = shares.iter().enumerate().map(value_of).collect();
        // Each node is evaluated on its own, so limit it to the smallest value of its ancestors.
        let limited = |i: usize| {
            let ix = NodeIx(i as u32);
            let above = taxonomy.ancestors(ix).iter();
            let smallest = above.fold(independent[i], |p, a| p.min(independent[a.index()]));
            smallest * if ix == root { 1.0 } else { known }
        };
        (0..independent.len()).map(limited).collect()
    };
    let p = values(Evidence::probability);
    let support = match evidence {
        Some(evidence) if evidence.stop_weights.is_some() => values(Evidence::support),
        _ => p.clone(),
    };
    NodeScores { shares, p, support }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taxonomy::tree_of;

    #[test]
    fn neither_the_root_nor_what_is_impossible_is_judged_by_evidence() {
        let taxonomy = tree_of("r = thing; a = animal < r; *c = cat < a; *t = table < r");
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
        let shares = vec![1.0, 0.9, 0.9, 0.0];
        let scores = evaluate(&taxonomy, &calibration, image, false, shares);
        let p = |id: &str| scores.p[taxonomy.find(id).unwrap().index()];
        assert_eq!((p("r"), p("t")), (1.0, 0.0));
        assert!(p("c") > 0.9 && p("c") < 1.0, "{}", p("c"));
    }
}
