//! Two subjects in one photo: "a dog and a tennis ball".
//!
//! A photo is read in parts, its halves and quarters. It shows two subjects if two parts that do not
//! overlap show different things with high probability, and these have little in common.

use image::RgbImage;
use serde::{Deserialize, Serialize};

use super::answer::Caption;
use super::captioner::Captioner;
use super::classifier::Classifier;
use super::result::{Rung, TaxonomyResult};
use crate::error::{CoreError, Result};
use crate::input::crop_box;
use crate::taxonomy::{NodeIx, TaxonomyPath};

/// The parts of a photo: left, top, right and bottom as fractions of its sides; halves first.
const PARTS: [[f32; 4]; 8] = [
    [0.0, 0.0, 0.5, 1.0],
    [0.5, 0.0, 1.0, 1.0],
    [0.0, 0.0, 1.0, 0.5],
    [0.0, 0.5, 1.0, 1.0],
    [0.0, 0.0, 0.5, 0.5],
    [0.5, 0.0, 1.0, 0.5],
    [0.0, 0.5, 0.5, 1.0],
    [0.5, 0.5, 1.0, 1.0],
];

/// Number of halves in [`PARTS`].
const HALVES: usize = 4;

/// Smallest probability of a subject in two halves that make up the photo. There is only one such
/// pair in each direction, so a mistake is rare.
const HALF_P: f32 = 0.8;

/// Smallest probability of a subject in any other two parts. There are many such pairs, and quarters
/// often show a detail that is taken for something else.
const ANY_P: f32 = 0.97;

/// Largest share of the labels that lie at or below a subject. "A man-made object" is none.
const MAX_SUBJECT: f64 = 0.13;

/// Smallest share of the labels below the nearest common ancestor of two subjects. Two parts of one
/// dog may look like two breeds, which have most in common. It is larger than [`MAX_SUBJECT`], so a
/// subject is no pair with itself, nor with what lies above it.
const MIN_COMMON: f64 = 0.15;

/// Number of parts that are embedded at once.
const BATCH: usize = 2;

/// One of two subjects of a photo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// The part of the photo that shows it: left, top, right and bottom as fractions of its sides.
    pub region: [f32; 4],
    /// Id of the most specific node that is likely enough.
    pub node: String,
    /// Name of that node.
    pub name: String,
    /// Probability of that node.
    pub p: f64,
    /// Ladder of the part.
    pub ladder: Vec<Rung>,
    /// Place of the part in the taxonomy.
    pub taxonomy: TaxonomyResult,
}

/// Two parts and what they show.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    parts: [usize; 2],
    nodes: [NodeIx; 2],
    /// The smaller of both probabilities.
    p: f32,
}

fn overlap(a: [f32; 4], b: [f32; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// Returns the most specific node of a path that the evidence supports with at least this
/// probability.
fn supported(path: &TaxonomyPath, min_p: f32) -> Option<(NodeIx, f32)> {
    let known = path.steps.iter().take(path.stop + 1);
    known.rev().find(|(_, p)| *p >= min_p).copied()
}

impl Classifier {
    /// Returns the share of the labels that lie at or below a node.
    fn share_below(&self, node: NodeIx) -> f64 {
        let taxonomy = self.taxonomy();
        taxonomy.labelled_below(node).len() as f64 / taxonomy.labelled().len() as f64
    }

    /// Returns two parts as a pair if they show different subjects.
    fn pair(&self, parts: [usize; 2], paths: &[TaxonomyPath]) -> Option<Pair> {
        let makes_up_photo = parts[1] < HALVES;
        let min_p = if makes_up_photo { HALF_P } else { ANY_P };
        let [a, b] = parts.map(|part| supported(&paths[part], min_p));
        let ((a, p_a), (b, p_b)) = (a?, b?);
        let are_subjects = [a, b]
            .iter()
            .all(|node| self.share_below(*node) <= MAX_SUBJECT);
        let common = self.share_below(self.taxonomy().common(a, b));
        (are_subjects && common >= MIN_COMMON).then_some(Pair {
            parts,
            nodes: [a, b],
            p: p_a.min(p_b),
        })
    }

    /// Returns the pair of parts that most probably shows two subjects, from the paths of
    /// [`PARTS`].
    fn best_pair(&self, paths: &[TaxonomyPath]) -> Option<Pair> {
        let apart = |a: usize, b: usize| !overlap(PARTS[a], PARTS[b]);
        let pairs = (0..PARTS.len()).flat_map(|a| (a + 1..PARTS.len()).map(move |b| [a, b]));
        pairs
            .filter(|[a, b]| apart(*a, *b))
            .filter_map(|parts| self.pair(parts, paths))
            .max_by(|x, y| x.p.total_cmp(&y.p))
    }
}

impl Captioner {
    /// Returns the two subjects of a photo, from left to right or from top to bottom; none if it
    /// shows a single one, or if that is not clear. `report` receives the number of parts that were
    /// read, and of all parts.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    pub async fn subjects(
        &self,
        photo: &RgbImage,
        mut report: impl FnMut(u64, u64),
    ) -> Result<Vec<Subject>> {
        if photo.width() < 2 || photo.height() < 2 {
            // It has no halves.
            return Ok(Vec::new());
        }
        let crop = |part: &[f32; 4]| crop_box(photo, *part).ok_or(CoreError::Region(*part));
        let mut points = Vec::with_capacity(PARTS.len());
        for parts in PARTS.chunks(BATCH) {
            let crops: Vec<RgbImage> = parts.iter().map(crop).collect::<Result<_>>()?;
            points.extend(self.embed(&crops).await?);
            report(points.len() as u64, PARTS.len() as u64);
        }
        let classifier = self.classifier();
        let paths = points.iter().map(|x| classifier.path(self.space(), x));
        let paths: Vec<TaxonomyPath> = paths.collect();
        let Some(pair) = classifier.best_pair(&paths) else {
            return Ok(Vec::new());
        };
        let subject = |(part, node): (usize, NodeIx)| {
            let Caption {
                ladder, taxonomy, ..
            } = self.rank(&points[part]);
            let tree = classifier.taxonomy();
            let p = paths[part].steps.iter().find(|(ix, _)| *ix == node);
            Subject {
                region: PARTS[part],
                node: tree.node(node).id.clone(),
                name: tree.name(node).to_owned(),
                p: p.map_or(0.0, |(_, p)| f64::from(*p)),
                ladder,
                taxonomy,
            }
        };
        let found = pair.parts.into_iter().zip(pair.nodes);
        Ok(found.map(subject).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::calibration::Calibration;
    use super::*;
    use crate::taxonomy::tree_of;

    /// Dogs, birds and things, ten labels of each.
    fn classifier() -> Classifier {
        let mut rows =
            "r = thing; a = animal < r; d = dog < a; b = bird < a; o = object < r".to_owned();
        for parent in ["d", "b", "o"] {
            for i in 0..10 {
                rows.push_str(&format!("; *{parent}{i} = {parent} {i} < {parent}"));
            }
        }
        let calibration = Calibration::of_scale(1.0);
        Classifier::new(tree_of(&rows), vec![0.0; 30], 1, calibration).unwrap()
    }

    /// The path to a node, whose last step has this probability; the others are certain.
    fn path(classifier: &Classifier, node: &str, p: f32) -> TaxonomyPath {
        let node = classifier.node(node).unwrap();
        let nodes = classifier.taxonomy().path_to(node).into_iter();
        let steps = nodes.map(|ix| (ix, if ix == node { p } else { 1.0 }));
        let steps: Vec<(NodeIx, f32)> = steps.collect();
        let stop = steps.len() - 1;
        TaxonomyPath { steps, stop }
    }

    fn found(parts: [(&str, f32); 8]) -> Option<[String; 2]> {
        let classifier = classifier();
        let paths = parts.map(|(node, p)| path(&classifier, node, p));
        let pair = classifier.best_pair(&paths)?;
        let id = |ix| classifier.taxonomy().node(ix).id.clone();
        Some(pair.nodes.map(id))
    }

    const NOTHING: (&str, f32) = ("r", 1.0);

    #[test]
    fn a_dog_on_the_left_and_a_ball_on_the_right_are_two() {
        let mut parts = [NOTHING; 8];
        (parts[0], parts[1]) = (("d1", 0.85), ("o3", 0.9));
        assert_eq!(found(parts), Some(["d1".into(), "o3".into()]));
        parts[1].1 = 0.7;
        assert_eq!(found(parts), None, "not sure enough");
    }

    #[test]
    fn parts_that_share_an_edge_do_not_overlap() {
        let [left, right, top, bottom, first, second, ..] = PARTS;
        assert!(!overlap(left, right) && !overlap(right, left) && !overlap(left, second));
        assert!(!overlap(top, bottom) && !overlap(bottom, top));
        assert!(overlap(left, top) && overlap(left, left) && overlap(left, first));
        assert!(overlap(left, [0.4, 0.0, 1.0, 1.0]) && overlap(top, [0.0, 0.4, 1.0, 1.0]));
    }

    #[test]
    fn a_node_and_what_lies_above_it_are_one_subject() {
        let mut parts = [NOTHING; 8];
        // `object` is too general.
        for (a, b) in [("d", "d1"), ("d1", "d"), ("d1", "d1"), ("d1", "o")] {
            (parts[0], parts[1]) = ((a, 0.99), (b, 0.99));
            assert_eq!(found(parts), None, "{a}, {b}");
        }
        const { assert!(MAX_SUBJECT < MIN_COMMON) };
        // Any two different nodes are apart; the surest pair wins.
        (parts[0], parts[1]) = (("d1", 0.9), ("o3", 0.9));
        (parts[2], parts[3]) = (("b1", 0.95), ("o4", 0.95));
        assert_eq!(found(parts), Some(["b1".into(), "o4".into()]));
    }

    #[test]
    fn quarters_have_to_be_surer_than_halves() {
        let mut parts = [NOTHING; 8];
        (parts[0], parts[7]) = (("b2", 0.99), ("o3", 0.9));
        assert_eq!(found(parts), None);
        parts[7].1 = 0.98;
        assert_eq!(found(parts), Some(["b2".into(), "o3".into()]));
        // The right half and the first quarter do not make up the photo either.
        let mut parts = [NOTHING; 8];
        (parts[1], parts[4]) = (("b2", 0.9), ("o3", 0.9));
        assert_eq!(found(parts), None);
    }
}
