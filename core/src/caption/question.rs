//! "Why not …?": compares a photo with a phrase that a visitor expected.

use serde::{Deserialize, Serialize};

use super::captioner::Captioner;
use super::classifier::Classifier;
use super::placing::{PlacedBy, TextPlace, is_near};
use crate::geometry::Space;
use crate::taxonomy::NodeIx;

/// A phrase, its point, and its place in the taxonomy.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Point of the phrase.
    pub phrase: &'a [f32],
    /// Point of the photo.
    pub photo: &'a [f32],
    /// Place of the phrase in the taxonomy, see [`place_text`](super::place_text).
    pub place: TextPlace,
    /// Embeddings of the nodes of the taxonomy, as for [`place_text`](super::place_text).
    pub nodes: &'a [Option<Vec<f32>>],
}

/// Test whether the photo lies in the cone of a phrase; angles in radians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConeTest {
    /// Exterior angle at the phrase toward the photo, in `[0, pi]`.
    pub angle: f64,
    /// Half-aperture of the phrase's cone.
    pub aperture: f64,
}

impl ConeTest {
    /// Returns whether the photo lies within the cone.
    #[must_use]
    pub fn holds(self) -> bool {
        self.angle <= self.aperture
    }
}

/// Result of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Score of photo and phrase, larger is closer.
    pub similarity: f64,
    /// Number of captions in the index that are closer to the photo than the phrase is.
    pub closer: usize,
    /// Number of captions in the index.
    pub captions: usize,
    /// Distance of the phrase to the root.
    pub radius: f64,
    /// The cone test, in spaces whose models are trained with cones.
    pub cone: Option<ConeTest>,
    /// Id of the node at which the phrase is placed: by name, by lexicon or by nearest embedding.
    pub concept: String,
    /// How that node was found.
    pub by: PlacedBy,
    /// Whether the node stands for the phrase: it was found by name, or the phrase is
    /// [near](super::is_near) to it. Otherwise the phrase was not understood, and the other values
    /// say nothing about it.
    pub understood: bool,
    /// Probability that the photo shows the concept.
    pub p: f64,
    /// Whether the concept lies beyond the node where the evidence stops.
    #[serde(default)]
    pub beyond: bool,
    /// Id of the lowest nameable node above both the concept and the end of the photo's path; the
    /// id of the concept if the path leads through it.
    pub common: String,
    /// Probability of that node.
    pub common_p: f64,
    /// Whether that node lies beyond the node where the evidence stops.
    #[serde(default)]
    pub common_beyond: bool,
}

impl Captioner {
    /// Compares a phrase with a photo; `classifier` is the bundle's own or a visitor's.
    #[must_use]
    pub fn explain(&self, classifier: &Classifier, question: Question<'_>) -> Verdict {
        let Question {
            phrase,
            photo,
            place: TextPlace { node: concept, by },
            nodes,
        } = question;
        let space = self.space();
        let taxonomy = classifier.taxonomy();
        let similarity = space.score(phrase, photo);
        let scores = self.index().scores(space, photo);
        let place = self.place(classifier, photo, None);
        let end = place.path.steps.last().map_or(taxonomy.root(), |s| s.0);
        let lowest = taxonomy.common(end, concept);
        let common = if lowest == concept {
            lowest
        } else {
            taxonomy.nameable_above(lowest)
        };
        let stop = place.path.steps.get(place.path.stop).map(|step| step.0);
        let beyond = |ix| !stop.is_some_and(|stop| taxonomy.is_at_or_above(ix, stop));
        let p = |ix: NodeIx| f64::from(place.p.get(ix.index()).copied().unwrap_or(0.0));
        Verdict {
            similarity,
            closer: scores.iter().filter(|score| **score > similarity).count(),
            captions: scores.len(),
            radius: space.radius(phrase),
            cone: (!matches!(space, Space::Sphere { .. })).then(|| ConeTest {
                angle: space.exterior_angle(phrase, photo),
                aperture: space.half_aperture(phrase),
            }),
            concept: taxonomy.node(concept).id.clone(),
            by,
            understood: by != PlacedBy::Embedding || is_near(space, phrase, concept, nodes),
            p: p(concept),
            beyond: beyond(concept),
            common: taxonomy.node(common).id.clone(),
            common_p: p(common),
            common_beyond: beyond(common),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photo_lies_in_a_cone_up_to_its_edge() {
        let holds = |angle, aperture| ConeTest { angle, aperture }.holds();
        assert!(holds(0.5, 0.6) && holds(0.6, 0.6) && !holds(0.61, 0.6));
    }
}
